package kineto

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// trouble is what is wrong with a string as it is written.
type trouble uint8

const (
	badEscape   trouble = 1 << iota // a backslash that begins no JSON escape: a raw Windows path
	controlByte                     // a raw byte below 0x20
	badUTF8
	hasEscape // nothing wrong, but the text must be decoded
)

// inspect looks at a string once, when it is first seen; at is the place of the first bad byte.
func inspect(raw []byte) (t trouble, at int) {
	at = -1
	mark := func(bit trouble, i int) {
		t |= bit
		if at < 0 {
			at = i
		}
	}
	ascii := true
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '\\':
			t |= hasEscape
			if i+1 >= len(raw) {
				mark(badEscape, i)
				continue
			}
			switch raw[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i++
			case 'u':
				if !isHex4(raw[i+2:]) {
					mark(badEscape, i)
				} else {
					i += 5
				}
			default:
				mark(badEscape, i)
			}
		case c < 0x20 || c == 0x7f:
			mark(controlByte, i)
		case c >= 0x80:
			ascii = false
		}
	}
	if !ascii && !utf8.Valid(raw) {
		mark(badUTF8, 0)
	}
	return t, at
}

func isHex4(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	for _, c := range b[:4] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

// decode is the text of a JSON string's raw bytes. With rawPaths, the file's writer is known not to escape backslashes: then a
// string whose backslashes are not all of the kind a proper writer makes for a path is taken as it stands, since \n and \f in
// torch\nn\functional.py are no newline and no form feed. Control characters become visible escapes.
func decode(raw string, rawPaths bool) string {
	if rawPaths || looksLikeRawPath(raw) {
		if !onlyPlainEscapes(raw) {
			return visible(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(raw))
		}
	}
	var out strings.Builder
	out.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' || i+1 >= len(raw) {
			out.WriteByte(c)
			continue
		}
		i++
		switch raw[i] {
		case '"', '\\', '/':
			out.WriteByte(raw[i])
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			if !isHex4([]byte(raw[i+1:])) {
				out.WriteString(`\u`)
				continue
			}
			r := hex4(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) && strings.HasPrefix(raw[i+1:], `\u`) && isHex4([]byte(raw[i+3:])) {
				if both := utf16.DecodeRune(r, hex4(raw[i+3:])); both != utf8.RuneError {
					r = both
					i += 6
				}
			}
			out.WriteRune(r) // a lone surrogate becomes U+FFFD
		default:
			out.WriteByte('\\')
			out.WriteByte(raw[i])
		}
	}
	return visible(out.String())
}

func hex4(s string) rune {
	v, _ := strconv.ParseUint(s[:4], 16, 16)
	return rune(v)
}

// onlyPlainEscapes reports whether every backslash is one of an escaped backslash, quote, slash or code point.
func onlyPlainEscapes(raw string) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if i >= len(raw) {
			return false
		}
		switch raw[i] {
		case '\\', '"', '/':
		case 'u':
			if !isHex4([]byte(raw[i+1:])) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// looksLikeRawPath reports whether a string names a Python file by a path whose backslashes would be control characters.
func looksLikeRawPath(raw string) bool {
	end := strings.Index(raw, ".py(")
	if end < 0 {
		return false
	}
	path := raw[:end]
	return strings.ContainsRune(path, '\\') && !onlyPlainEscapes(path)
}

// visible replaces control characters and broken UTF-8 by escapes that can be read, so that no name moves a terminal's cursor.
func visible(s string) string {
	clean := utf8.ValidString(s)
	for i := 0; clean && i < len(s); i++ {
		clean = s[i] >= 0x20 && s[i] != 0x7f
	}
	if clean {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == '\r':
			out.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			out.WriteString(`\x` + strconv.FormatUint(uint64(r)|0x100, 16)[1:])
		default:
			out.WriteRune(r)
		}
		i += n
	}
	return out.String()
}
