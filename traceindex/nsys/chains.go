package nsys

import (
	"regexp"
	"strconv"
	"strings"
)

// frame is one Python frame of a call chain, at the line that was running.
type frame struct {
	File     string
	Line     int // 0 if the chain does not tell
	Function string
}

// readChains reads the call chains of CUDA calls that hold Python frames, by id; innermost frame first. The frames of the
// interpreter's own C functions are left out.
func (r *reader) readChains() error {
	if !r.db.has(tableCallchains) || !r.db.hasColumn(tableRuntime, "callchainId") {
		return nil
	}
	type located struct {
		depth int64
		frame
	}
	type key struct{ symbol, module int64 }
	parsed := map[key]*frame{}
	raw := map[int64][]located{}
	err := r.db.each(r.ctx, tableCallchains, []string{"id", "symbol", "module", "stackDepth"}, func(w row) error {
		id, ok := w.int(0)
		if !ok || id == 0 {
			return nil
		}
		k := key{w.number(1, 0), w.number(2, 0)}
		f, seen := parsed[k]
		if !seen {
			if found, ok := parseFrame(r.strings[k.symbol], r.strings[k.module]); ok {
				f = &found
			}
			parsed[k] = f
		}
		if f != nil {
			raw[id] = append(raw[id], located{w.number(3, int64(len(raw[id]))), *f})
		}
		return nil
	})
	if err != nil || len(raw) == 0 {
		return err
	}
	r.chains = make(map[int64][]frame, len(raw))
	for id, list := range raw {
		// Rows come in order of depth nearly always; sort the few that do not.
		for i := 1; i < len(list); i++ {
			for j := i; j > 0 && list[j].depth < list[j-1].depth; j-- {
				list[j], list[j-1] = list[j-1], list[j]
			}
		}
		frames := make([]frame, len(list))
		for i, f := range list {
			frames[i] = f.frame
		}
		r.chains[id] = frames
	}
	r.otherIdx = lastOrder
	return nil
}

// pythonFile finds a Python file, with or without a line: "/srv/train.py:21", `File "train.py", line 21`, "train.py(21)",
// "<ipython-input-3-1a2b>:4".
var pythonFile = regexp.MustCompile(`((?:[A-Za-z]:)?[^\s"'()\[\]{}:,;]*\.pyw?|<ipython-input-[^>]*>|<stdin>|<string>)(?:"?,? line |[:(@])?(\d+)?\)?`)

// parseFrame reads the text of a call chain's entry. Files stand in the module ("/srv/train.py", symbol "step") or in the symbol
// ("step at /srv/train.py:21"), depending on the version.
func parseFrame(symbol, module string) (frame, bool) {
	if at := pythonFile.FindStringSubmatchIndex(module); at != nil && at[0] == 0 {
		f := frame{File: normal(module[at[2]:at[3]])}
		if at[4] >= 0 {
			f.Line, _ = strconv.Atoi(module[at[4]:at[5]])
		}
		f.Function = strings.TrimSpace(symbol)
		if name, line, ok := cutLine(f.Function); ok && f.Line == 0 {
			f.Function, f.Line = name, line
		}
		f.Function = functionName(f.Function)
		return f, f.Function != ""
	}
	at := pythonFile.FindStringSubmatchIndex(symbol)
	if at == nil || at[3]-at[2] == 0 {
		return frame{}, false
	}
	f := frame{File: normal(symbol[at[2]:at[3]])}
	if at[4] >= 0 {
		f.Line, _ = strconv.Atoi(symbol[at[4]:at[5]])
	}
	before, after := strings.TrimSpace(symbol[:at[0]]), strings.TrimSpace(symbol[at[1]:])
	f.Function = functionName(before)
	if f.Function == "" {
		f.Function = functionName(after)
	}
	if f.Function == "" {
		f.Function = "<module>"
	}
	return f, true
}

func normal(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// cutLine takes a trailing line off a function: "step:21", "step @ 21".
func cutLine(text string) (name string, line int, ok bool) {
	at := strings.LastIndexAny(text, ":@")
	if at <= 0 {
		return text, 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(text[at+1:]))
	if err != nil {
		return text, 0, false
	}
	return strings.TrimSpace(text[:at]), n, true
}

// functionName takes what stands around a function's name off it: "step at", "in step", "step()", ": step".
func functionName(text string) string {
	text = strings.Trim(text, " \t:,;-[]{}@\"'")
	for _, word := range []string{"at", "in", "File", "from"} {
		if text == word {
			return ""
		}
		text = strings.TrimSuffix(text, " "+word)
		text = strings.TrimPrefix(text, word+" ")
	}
	text = strings.TrimSuffix(strings.TrimSpace(text), "()")
	return strings.Trim(text, " ()")
}
