package capture

import (
	"regexp"
	"strings"
)

// plainWord is what every shell takes for one word as it is; a leading ~ is the home folder.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./~-]+$`)

// shellWord is a word as a POSIX shell reads it: quoted where it would be something else without.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ShellLine is a command as a line for a POSIX shell, each word quoted that needs it.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}
