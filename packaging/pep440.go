package main

import (
	"regexp"
	"strings"
)

// described is `git describe --tags --always --dirty`: a tag, how many commits came after it, the last one's hash.
var (
	described   = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:-?(alpha|beta|a|b|rc)[.-]?(\d+))?(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)
	hashAlone   = regexp.MustCompile(`^([0-9a-f]{7,40})(-dirty)?$`)
	preReleases = map[string]string{"alpha": "a", "a": "a", "beta": "b", "b": "b", "rc": "rc"}
)

// pep440 is a version of `git describe` as Python packages write it (PEP 440): commits after a tag make it a later one
// (v1.2.3-5-gabc1234 is 1.2.3.post5+gabc1234), without any tag it is before all (0.0.0.dev0+gabc1234). What is none of these
// becomes the local part, so that it is kept.
func pep440(version string) string {
	if parts := hashAlone.FindStringSubmatch(version); parts != nil { // of digits alone too: a tag like that is rarer than such a hash
		return "0.0.0.dev0+g" + parts[1] + local(parts[2])
	}
	parts := described.FindStringSubmatch(version)
	if parts == nil {
		words := strings.FieldsFunc(strings.ToLower(version), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		if len(words) == 0 {
			return "0.0.0.dev0"
		}
		return "0.0.0.dev0+" + strings.Join(words, ".")
	}
	release, kind, number, commits, hash, dirty := parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]
	out := release
	if kind != "" {
		out += preReleases[kind] + number
	}
	switch {
	case commits != "":
		out += ".post" + commits + "+g" + hash + local(dirty)
	case dirty != "":
		out += "+dirty"
	}
	return out
}

// local is what is added to a local part.
func local(dirty string) string {
	if dirty != "" {
		return ".dirty"
	}
	return ""
}
