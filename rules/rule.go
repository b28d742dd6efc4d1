package rules

import (
	"fmt"
	"strings"
)

// Severity says how loud a finding is. Larger is louder.
type Severity uint8

const (
	// SeverityDefault stands for the rule's own severity; findings never carry it after Run.
	SeverityDefault Severity = iota
	Hint
	Info
	Warning
	Error
)

var severityWords = [...]string{"default", "hint", "info", "warning", "error"}

// String is the word of the JSON contract: error, warning, info or hint.
func (s Severity) String() string { return severityWords[s] }

// ParseSeverity reads a severity's word.
func ParseSeverity(word string) (Severity, error) {
	for s := Hint; s <= Error; s++ {
		if severityWords[s] == word {
			return s, nil
		}
	}
	return SeverityDefault, fmt.Errorf("unknown severity %q: use error, warning, info or hint", word)
}

// Lower is the next quieter severity; a hint stays a hint.
func (s Severity) Lower() Severity {
	if s <= Hint {
		return Hint
	}
	return s - 1
}

// Safety says what a fix promises.
type Safety uint8

const (
	// NoFix: the rule describes what to do and edits nothing.
	NoFix Safety = iota
	// Unsafe fixes need the user's yes: they can change what the program computes or prints.
	Unsafe
	// Safe fixes keep behaviour; `check --fix` and source.fixAll apply them.
	Safe
)

// String is the word of the JSON contract: none, unsafe or safe.
func (s Safety) String() string { return [...]string{"none", "unsafe", "safe"}[s] }

// PriceKind says what a trace is asked about a finding. All prices are per step of the loaded trace.
type PriceKind uint8

const (
	// Unpriced rules are about correctness, memory or measuring; a trace says nothing about their cost.
	Unpriced PriceKind = iota
	// PriceSync: wait in *Synchronize calls or a blocking copy under the span; bubble is GPU idle from the sync's end to the next GPU event.
	PriceSync
	// PriceHost: the matched host span ∩ GPU idle.
	PriceHost
	// PriceData: the loader's __next__ ∩ GPU idle.
	PriceData
	// PriceCopy: copy time not hidden under kernels, and the host's blocking time.
	PriceCopy
	// PriceKernels: the time of the matched kernels.
	PriceKernels
	// PriceComm: communication time not overlapped with compute.
	PriceComm
)

// String is the name the rule catalogue uses: P-sync, P-host, ….
func (k PriceKind) String() string {
	return [...]string{"", "P-sync", "P-host", "P-data", "P-copy", "P-kern", "P-comm"}[k]
}

// Rule is one entry of the catalogue. Rules are package variables, never changed after init.
type Rule struct {
	ID   string // "SYN001"
	Name string // "item-in-loop"
	// Summary is one plain sentence without a full stop, for tables.
	Summary  string
	Severity Severity
	// Fix is the best safety the rule's fixes can have.
	Fix Safety
	// NeedsGPU rules are off in projects that never name a GPU (guard g4).
	NeedsGPU bool
	// NeedsTorch rules are off in files that import nothing of torch and are used by no file that does.
	// It is on for every rule whose subject is torch; false lets a rule see any Python file.
	AnyFile bool
	// Price says how a trace prices the findings; Ops narrows it to ops, runtime calls or copies by name (prefix match), empty for all.
	Price PriceKind
	Ops   []string
	// Anywhere tells that Ops cost what they cost because of the finding wherever they run, such as by a constructor's argument, and
	// not under the finding's lines.
	Anywhere bool
	// AbsenceProvesNothing tells that lines without any of Ops are not observed, where else they would be refuted: what costs may
	// have come before the recording, or have ended in something worse.
	AbsenceProvesNothing bool
	// Keeps is the part of the measured time that can stay after mending (0: it all goes): the lower end of the price leaves it out.
	Keeps float64
	// HostStays tells that mending makes kernels faster and leaves the host as much to do: that saves only while the GPU, not the
	// host, is what the step waits for.
	HostStays bool
	// Page is the rule's doc.md.
	Page string
	// Check reports the rule's findings in one file.
	Check func(*Pass)
}

// Family is the rule's letters: "SYN".
func (r *Rule) Family() string { return strings.TrimRight(r.ID, "0123456789") }

// FamilyTitle is the family in words.
func FamilyTitle(family string) string {
	if title, ok := familyTitles[family]; ok {
		return title
	}
	return family
}

// Families lists the families in the catalogue's order.
func Families() []string {
	return []string{"DAT", "XFR", "SYN", "AMP", "OPT", "DST", "CMP", "MEM", "PRF", "IOL"}
}

var familyTitles = map[string]string{
	"DAT": "data loading",
	"XFR": "host–device copies",
	"SYN": "synchronisation",
	"AMP": "precision",
	"OPT": "optimizer and gradients",
	"DST": "distributed training",
	"CMP": "compile, graphs and kernels",
	"MEM": "memory",
	"PRF": "profiling practice",
	"IOL": "input, output and logging",
	"LNT": "suppressions",
}

// PageURL is where a rule's page is published, for codeDescription and SARIF's helpUri. The text itself is in Rule.Page.
func (r *Rule) PageURL() string {
	return "https://stepline.dev/rules/" + r.ID
}
