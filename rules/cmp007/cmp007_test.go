package cmp007

import (
	"testing"

	"stepline/rules/internal/rulestest"
)

func TestRule(t *testing.T) { rulestest.Run(t, Rule) }
