package pyscan

import "strings"

// BlankMagics makes Python of a notebook cell's source: what IPython understands and Python does not
// (`%magic`, `!command`, `help?`, `x = !command`, a `%%cell` of another language) becomes Python that does
// nothing. Every line keeps its length in bytes, so offsets and lines stay as they were. The code after
// `%time` and `%timeit` is kept, as is that below `%%time`, `%%capture` and the like. A `%` or a `?` inside
// a string, brackets or a continued line is left alone.
func BlankMagics(cell string) string {
	if !strings.ContainsAny(cell, "%!?") {
		return cell
	}
	out := []byte(cell)
	var state lineState
	first := true
	for at := 0; at < len(cell); {
		end := lineEnd(cell, at)
		line := cell[at:end]
		switch {
		case state.inside():
			state.advance(line)
		case first && strings.HasPrefix(strings.TrimLeft(line, " \t"), "%%"):
			name := magicName(strings.TrimLeft(line, " \t")[2:])
			if !pythonCells[name] {
				blankRange(out)
				return string(out)
			}
			blankRange(out[at:end])
		default:
			end = blankMagic(out, cell, at, end, &state)
		}
		if strings.TrimSpace(line) != "" {
			first = false
		}
		at = skipLineBreak(cell, end)
	}
	return string(out)
}

// pythonCells are the cell magics whose cell is Python that runs in the notebook.
var pythonCells = map[string]bool{
	"time": true, "timeit": true, "capture": true, "prun": true, "memit": true, "mprun": true, "lprun": true,
	"python": true, "python3": true, "debug": true, "skip": true, "wandb": true, "heat": true,
}

// codeMagics are the line magics whose argument is Python.
var codeMagics = map[string]bool{"time": true, "timeit": true, "prun": true, "memit": true}

func magicName(text string) string {
	end := 0
	for end < len(text) && (byteClass[text[end]] == className || byteClass[text[end]] == classDigit) {
		end++
	}
	return text[:end]
}

func lineEnd(text string, at int) int {
	for at < len(text) && text[at] != '\n' && text[at] != '\r' {
		at++
	}
	return at
}

func skipLineBreak(text string, at int) int {
	if at+1 < len(text) && text[at] == '\r' && text[at+1] == '\n' {
		return at + 2
	}
	return at + 1
}

// blankMagic blanks the line [at,end) where a logical line starts, if it is a magic, with the lines that a
// trailing backslash adds to it. It returns the end of the last line it has dealt with.
func blankMagic(out []byte, cell string, at, end int, state *lineState) int {
	line := cell[at:end]
	code := strings.TrimLeft(line, " \t")
	start := at + len(line) - len(code)
	switch {
	case code == "":
		return end
	case code[0] == '%':
		name := magicName(strings.TrimLeft(code, "%"))
		if argument := codeArgument(code, name); argument > 0 {
			// `if 1:` takes the magic's place, so that any statement may follow.
			blank := out[start : start+argument]
			for i := range blank {
				blank[i] = ' '
			}
			copy(blank, "if 1:")
			state.advance(code[argument:])
			return end
		}
	case code[0] == '!', code[0] == '?':
	case asksForHelp(code):
	default:
		if value := shellValue(code); value > 0 {
			end = continued(cell, end)
			blankRange(out[start+value : end])
			out[start+value] = '0'
			return end
		}
		state.advance(line)
		return end
	}
	end = continued(cell, end)
	doNothing(out[start:end])
	return end
}

// continued extends a line over those that its trailing backslash joins to it.
func continued(cell string, end int) int {
	for end > 0 && end < len(cell) && cell[end-1] == '\\' {
		end = lineEnd(cell, skipLineBreak(cell, end))
	}
	return end
}

// codeArgument is the length of a code magic before its Python, options included; 0 if there is none.
func codeArgument(code, name string) int {
	if !codeMagics[name] || strings.HasPrefix(code, "%%") {
		return 0
	}
	at := 1 + len(name)
	for at < len(code) {
		rest := strings.TrimLeft(code[at:], " \t")
		skipped := len(code) - at - len(rest)
		if skipped == 0 || rest == "" {
			return 0
		}
		at += skipped
		if rest[0] != '-' || len(rest) < 2 || byteClass[rest[1]] != className {
			return at
		}
		// An option: `-n 10`, `-n10`, `-q`.
		word := strings.IndexAny(rest, " \t")
		if word < 0 {
			return 0
		}
		at += word
		if value := strings.TrimLeft(code[at:], " \t"); word == 2 && value != "" && byteClass[value[0]] == classDigit {
			at = len(code) - len(strings.TrimLeft(value, "0123456789"))
		}
	}
	return 0
}

// asksForHelp recognises `name?`, `name??` and `obj.attr?`.
func asksForHelp(code string) bool {
	text := strings.TrimRight(code, " \t")
	name := strings.TrimRight(text, "?")
	if len(name) == len(text) || name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i]; byteClass[c] != className && byteClass[c] != classDigit && c != '.' && c != '*' {
			return false
		}
	}
	return true
}

// shellValue is the offset of the value in `names = !command` and `names = %magic`, 0 if the line is none.
func shellValue(code string) int {
	for i := range len(code) {
		switch c := code[i]; {
		case c == '=':
			value := i + 1
			for value < len(code) && (code[value] == ' ' || code[value] == '\t') {
				value++
			}
			if i > 0 && value < len(code) && (code[value] == '!' && !strings.HasPrefix(code[value:], "!=") ||
				code[value] == '%' && value+1 < len(code) && byteClass[code[value+1]] == className) {
				return value
			}
			return 0
		case byteClass[c] != className && byteClass[c] != classDigit && c != ' ' && c != ',' && c != '.' && c != '_':
			return 0
		}
	}
	return 0
}

// doNothing turns a piece of source into a statement that does nothing, for a block may need one.
func doNothing(piece []byte) {
	blankRange(piece)
	if len(piece) >= len("pass") && !strings.ContainsAny(string(piece[:len("pass")]), "\r\n") {
		copy(piece, "pass")
	} else if len(piece) > 0 {
		piece[0] = '0'
	}
}

func blankRange(piece []byte) {
	for i := range piece {
		if piece[i] != '\n' && piece[i] != '\r' {
			piece[i] = ' '
		}
	}
}

// lineState says whether the next line continues a logical one: inside brackets, a triple-quoted string or
// after a backslash.
type lineState struct {
	brackets int
	quote    byte // of the open triple-quoted string, 0 outside
	joined   bool
}

func (s *lineState) inside() bool { return s.brackets > 0 || s.quote != 0 || s.joined }

func (s *lineState) advance(line string) {
	s.joined = false
	for at := 0; at < len(line); {
		c := line[at]
		switch {
		case s.quote != 0:
			end := plainEnd(line, at, s.quote, true)
			if end < 0 {
				return
			}
			s.quote = 0
			at = end
		case c == '"' || c == '\'':
			triple := at+2 < len(line) && line[at+1] == c && line[at+2] == c
			body := at + 1
			if triple {
				body = at + 3
			}
			end := plainEnd(line, body, c, triple)
			if end < 0 {
				if triple {
					s.quote = c
				}
				return
			}
			at = end
		case c == '#':
			return
		case c == '\\' && at == len(line)-1:
			s.joined = true
			return
		default:
			switch c {
			case '(', '[', '{':
				s.brackets++
			case ')', ']', '}':
				s.brackets = max(0, s.brackets-1)
			}
			at++
		}
	}
}
