package verify

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
)

// StepPattern reads step times from lines of output.
type StepPattern struct {
	pattern *regexp.Regexp
	group   int
	unitNs  float64 // 0 for a rate per second
}

var stepUnits = map[string]float64{"us": 1e3, "ms": 1e6, "s": 1e9, "rate": 0}

// NewStepPattern reads a regular expression with one group named ms, s, us, or rate (steps a second), as in
// `step \d+: (?P<ms>[\d.]+) ms`.
func NewStepPattern(text string) (*StepPattern, error) {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	for group, name := range pattern.SubexpNames() {
		if unit, known := stepUnits[name]; known {
			return &StepPattern{pattern, group, unit}, nil
		}
	}
	return nil, errors.New(`it needs a group named ms, s, us or rate around the number, as in 'step (?P<ms>[\d.]+) ms'`)
}

func (p *StepPattern) read(line string) (ns float64, found bool) {
	v, found := number(p.pattern, p.group, line)
	switch {
	case !found || p.unitNs == 0 && v <= 0:
		return 0, false
	case p.unitNs == 0:
		return 1e9 / v, true
	}
	return v * p.unitNs, true
}

// LossPattern reads losses from lines of output.
type LossPattern struct {
	pattern *regexp.Regexp
	group   int
}

// NewLossPattern reads a regular expression with a group around the number: the one named loss, else the first.
func NewLossPattern(text string) (*LossPattern, error) {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	group := 1
	if named := slices.Index(pattern.SubexpNames(), "loss"); named > 0 {
		group = named
	}
	if pattern.NumSubexp() < 1 {
		return nil, errors.New(`it needs a group around the number, as in 'loss (\S+)'`)
	}
	return &LossPattern{pattern, group}, nil
}

func (p *LossPattern) read(line string) (float64, bool) { return number(p.pattern, p.group, line) }

func number(pattern *regexp.Regexp, group int, line string) (float64, bool) {
	found := pattern.FindStringSubmatch(line)
	if found == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(found[group], 64)
	return v, err == nil
}
