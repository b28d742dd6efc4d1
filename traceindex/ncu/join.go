package ncu

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stepline/traceindex"
)

// Kernel is a kernel of a trace, as far as the join needs it.
type Kernel struct {
	Name        string
	Grid, Block [3]int32 // zero if the trace does not tell
}

// How tells how far a launch of the report fits a kernel of the trace.
type How uint8

const (
	// NotFound: the report has no launch of that name and shape.
	NotFound How = iota
	// SameName: name alone fits; the trace or the report has no grid and block.
	SameName
	// SameShape: function name, grid and block fit; the report or the trace does not tell template arguments
	// (--kernel-name-base function).
	SameShape
	// SameKernel: the names say the same kernel, and grid and block are equal.
	SameKernel
)

// ForKernel finds the report's launch of a trace's kernel: same function, grid and block, and among those the one whose
// template arguments fit best. ncu demangles otherwise than the profiler does (namespaces cut, T1 for parameters, lambda
// (instance 3) for {lambda()#3}), so names are compared by their parts. The report usually covers a part of the run
// (--launch-skip, --launch-count), so order does not identify a launch: n, from 0, picks the n-th of equals in turn.
func (r *Report) ForKernel(name string, grid, block [3]int32, n int) (*Launch, How) {
	rows, how := r.fitting(Kernel{name, grid, block})
	if len(rows) == 0 {
		return nil, NotFound
	}
	if n < 0 {
		n = 0
	}
	return &r.Launches[rows[n%len(rows)]], how
}

// fitting are the rows of Launches that fit a kernel best, in order.
func (r *Report) fitting(k Kernel) (rows []int, how How) {
	want := parseName(k.Name)
	best := -1.0
	for _, row := range r.byBase[want.base] {
		launch := &r.Launches[row]
		step := SameName
		if shaped(k.Grid, k.Block) && shaped(launch.Grid, launch.Block) {
			if k.Grid != launch.Grid || k.Block != launch.Block {
				continue
			}
			step = SameShape
		}
		have := parseName(launch.Kernel)
		score := want.likeness(have)
		if len(want.parts) > 0 && len(have.parts) > 0 && score < sameArguments {
			continue // elementwise_kernel<add> is no elementwise_kernel<copy>
		}
		if step == SameShape && score >= sameArguments {
			step = SameKernel
		}
		switch rank := float64(step) + score; {
		case rank > best+1e-9:
			best, rows, how = rank, append(rows[:0], row), step
		case rank > best-1e-9:
			rows = append(rows, row)
		}
	}
	return rows, how
}

// sameArguments is the likeness from which two demanglings of template arguments are the same kernel's. On the recorded GPT
// reports the same kernels reach 1, different ones of equal shape 0.81 and less.
const sameArguments = 0.9

func shaped(grid, block [3]int32) bool { return grid[0] > 0 && block[0] > 0 }

// Compare says how well the report fits a run's kernels. ok is false when something does not fit; message then says what, for
// people. Kernels may repeat.
func (r *Report) Compare(kernels []Kernel) (message string, ok bool) {
	type shape struct{ grid, block [3]int32 }
	names := map[string]map[shape]bool{}
	for _, k := range kernels {
		base := parseName(k.Name).base
		if names[base] == nil {
			names[base] = map[shape]bool{}
		}
		names[base][shape{k.Grid, k.Block}] = true
		if !shaped(k.Grid, k.Block) {
			names[base][shape{}] = true
		}
	}
	var absent, reshaped []*Launch
	for i := range r.Launches {
		launch := &r.Launches[i]
		shapes, known := names[parseName(launch.Kernel).base]
		switch {
		case !known:
			absent = append(absent, launch)
		case shaped(launch.Grid, launch.Block) && !shapes[shape{launch.Grid, launch.Block}] && !shapes[shape{}]:
			reshaped = append(reshaped, launch)
		}
	}
	if len(absent)+len(reshaped) == 0 {
		return "", true
	}
	var parts []string
	if n := len(absent); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of its %d launches are of kernels the trace does not have (first: %s)", n, len(r.Launches), parseName(absent[0].Kernel).base))
	}
	if n := len(reshaped); n > 0 {
		first := reshaped[0]
		parts = append(parts, fmt.Sprintf("%d of its %d launches have a grid or block the trace does not have (first: %s with grid %v, block %v)",
			n, len(r.Launches), parseName(first.Kernel).base, first.Grid, first.Block))
	}
	return "the Nsight Compute report is not of this run, or of other shapes: " + strings.Join(parts, "; ") +
		". Profile the same script with the same batch size", false
}

// Warning is Compare's message as a warning of the run, nil if all fits.
func (r *Report) Warning(kernels []Kernel) *traceindex.Warning {
	message, ok := r.Compare(kernels)
	if ok {
		return nil
	}
	return &traceindex.Warning{Code: "ncu-mismatch", Message: message, File: r.Files[0]}
}

func (r *Report) index() {
	r.byBase = map[string][]int{}
	for i := range r.Launches {
		base := parseName(r.Launches[i].Kernel).base
		r.byBase[base] = append(r.byBase[base], i)
	}
}

// kernelName is a demangled name taken apart.
type kernelName struct {
	base  string   // the function's own name: "softmax_warp_forward"
	parts []string // words and numbers of its template arguments, in order
}

// parseName takes a demangled kernel name apart. Names that are no C++ (nvjet_…, triton_…) are their own base.
func parseName(name string) kernelName {
	depth, start := 0, -1
	end := len(name)
	// The arguments begin at the first parenthesis outside <>, (anonymous namespace) and (…)enum casts left aside.
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			if strings.HasPrefix(name[i:], "<unnamed>") {
				i += len("<unnamed>") - 1
				continue
			}
			if depth == 0 && start < 0 {
				start = i
			}
			depth++
		case '>':
			if i > 0 && name[i-1] == '-' {
				continue
			}
			depth--
			if depth == 0 && i+1 < len(name) && strings.HasPrefix(name[i+1:], "::") {
				start = -1 // a class template's arguments: the function's name is still to come
			}
		case '(':
			if depth > 0 {
				continue
			}
			if strings.HasPrefix(name[i:], "(anonymous namespace)") {
				i += len("(anonymous namespace)") - 1
				continue
			}
			end = i
		}
		if end < len(name) {
			break
		}
	}
	head := name[:end]
	var parsed kernelName
	if start >= 0 && start < end {
		head = name[:start]
		parsed.parts = words(name[start:end])
	}
	if at := strings.LastIndex(head, "::"); at >= 0 {
		head = head[at+2:]
	}
	if at := strings.LastIndexByte(head, ' '); at >= 0 {
		head = head[at+1:]
	}
	parsed.base = head
	return parsed
}

// notCompared are words that demanglers write differently or leave out.
var notCompared = map[string]bool{
	"native": true, "anonymous": true, "namespace": true, "unnamed": true, "instance": true, "const": true, "at": true, "detail": true,
	"void": true, "lambda": true,
}

// casts are the types Nsight Systems writes before template arguments: "elementwise_kernel<(int)128, (bool)1>".
var casts = regexp.MustCompile(`\((?:(?:un)?signed |std::)?(?:bool|char|short|int|long|long long|size_t)\)(-?[0-9])`)

func words(text string) []string {
	if strings.Contains(text, "<(") || strings.Contains(text, ", (") {
		text = casts.ReplaceAllString(text, "$1")
	}
	var list []string
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && wordByte(text[j]) {
			j++
		}
		word := text[i:j]
		i = j
		if word[0] >= '0' && word[0] <= '9' {
			word = strings.TrimRight(word, "ulUL")
		}
		switch word {
		case "true":
			word = "1"
		case "false":
			word = "0"
		}
		if !notCompared[word] {
			list = append(list, word)
		}
	}
	return list
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// likeness is the share of words two names have in common, 0–1; 1 for two names without template arguments, and where the
// words are equal but for ncu's back references: T1 stands for whatever the first template argument is.
func (k kernelName) likeness(other kernelName) float64 {
	if len(k.parts) == 0 && len(other.parts) == 0 || matchesPattern(k.parts, other.parts) || matchesPattern(other.parts, k.parts) {
		return 1
	}
	counts := map[string]int{}
	for _, word := range k.parts {
		counts[word]++
	}
	common := 0
	for _, word := range other.parts {
		if counts[word] > 0 {
			counts[word]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(k.parts)+len(other.parts))
}

// matchesPattern reports whether words are those of a pattern whose back references stand for any number of words.
func matchesPattern(words, pattern []string) bool {
	anchored := true // the next literal stretch must follow at once
	for at := 0; ; {
		end := at
		for end < len(pattern) && !isBackReference(pattern[end]) {
			end++
		}
		literal := pattern[at:end]
		last := end == len(pattern)
		switch {
		case anchored && last:
			return slices.Equal(words, literal)
		case anchored:
			if !hasPrefix(words, literal) {
				return false
			}
			words = words[len(literal):]
		case last:
			return len(words) >= len(literal) && slices.Equal(words[len(words)-len(literal):], literal)
		default:
			skip := 0
			for skip+len(literal) <= len(words) && !hasPrefix(words[skip:], literal) {
				skip++
			}
			if skip+len(literal) > len(words) {
				return false
			}
			words = words[skip+len(literal):]
		}
		anchored = false
		at = end + 1
	}
}

func hasPrefix(words, prefix []string) bool {
	return len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}

// isBackReference tells ncu's T1, T2, … from other words.
func isBackReference(word string) bool {
	if len(word) < 2 || len(word) > 3 || word[0] != 'T' {
		return false
	}
	for _, digit := range word[1:] {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	return true
}
