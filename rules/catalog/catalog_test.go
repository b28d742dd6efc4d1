package catalog

import (
	"strings"
	"testing"

	"stepline/rules"
	"stepline/rules/internal/rulestest"
)

// TestPagesRepeatNoFalseClaims greps every page for things often said that are not so.
func TestPagesRepeatNoFalseClaims(t *testing.T) {
	for _, r := range All() {
		for _, claim := range rulestest.FalseClaims {
			if m := claim.FindString(r.Page); m != "" {
				t.Errorf("%s's page says %q (%s)", r.ID, m, claim)
			}
			if m := claim.FindString(r.Summary); m != "" {
				t.Errorf("%s's summary says %q", r.ID, m)
			}
		}
	}
}

// TestFalseClaimsAreCaught keeps the patterns from going blind.
func TestFalseClaimsAreCaught(t *testing.T) {
	for _, said := range []string{
		"autocast takes a lock", "AdamW.step calls cuda.synchronize", "the profiler samples at 1000 Hz", "`non_blocking=True` is useless here",
		"a long NCCL kernel is host queueing", "DistributedSampler has a barrier in __iter__", "top aten::copy_ means slow data loading",
		"num_alloc_retries counts pinned memory",
	} {
		caught := false
		for _, claim := range rulestest.FalseClaims {
			caught = caught || claim.MatchString(said)
		}
		if !caught {
			t.Errorf("%q passes", said)
		}
	}
}

// TestRulesAreWellFormed: ids and names are unique, fields are filled, every rule is in a known family.
func TestRulesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		for _, key := range []string{r.ID, r.Name} {
			if seen[key] {
				t.Errorf("%s: %q is taken", r.ID, key)
			}
			seen[key] = true
		}
		if rules.FamilyTitle(r.Family()) == r.Family() {
			t.Errorf("%s: unknown family", r.ID)
		}
		if r.Severity < rules.Hint || r.Check == nil || r.Page == "" || !strings.HasPrefix(r.Page, "# "+r.ID+" "+r.Name) {
			t.Errorf("%s: incomplete", r.ID)
		}
	}
	if Find("syn001") == nil || Find("item-in-loop") == nil || Find("LNT001") == nil || Find("XXX") != nil {
		t.Error("Find does not find what it should")
	}
}
