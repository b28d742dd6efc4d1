package main

import "testing"

func TestPEP440(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                      "1.2.3",
		"1.2.3":                       "1.2.3",
		"v1.2":                        "1.2",
		"v1.2.3-dirty":                "1.2.3+dirty",
		"v1.2.3-5-gabc1234":           "1.2.3.post5+gabc1234",
		"v1.2.3-5-gabc1234-dirty":     "1.2.3.post5+gabc1234.dirty",
		"v1.2.3-rc.1":                 "1.2.3rc1",
		"v1.2.3-rc1":                  "1.2.3rc1",
		"v1.2.3-alpha.2-4-g0123abc":   "1.2.3a2.post4+g0123abc",
		"v1.2.3-beta1":                "1.2.3b1",
		"abc1234":                     "0.0.0.dev0+gabc1234",
		"abc1234-dirty":               "0.0.0.dev0+gabc1234.dirty",
		"2523984":                     "0.0.0.dev0+g2523984",
		"2523984-dirty":               "0.0.0.dev0+g2523984.dirty",
		"unknown":                     "0.0.0.dev0+unknown",
		"release/Next_One":            "0.0.0.dev0+release.next.one",
		"":                            "0.0.0.dev0",
		"v0.0.0-20260101-ga-nonsense": "0.0.0.dev0+v0.0.0.20260101.ga.nonsense",
	} {
		if got := pep440(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
