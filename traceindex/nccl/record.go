package nccl

import (
	"regexp"
	"strings"
)

// record is one line NCCL wrote.
type record struct {
	host, pid string
	warn      bool
	source    string // "transport/net_ib.cc:1203", WARN only
	text      string
	line      int
	file      string
	// clean tells that nothing but stamps and prefixes stands before the host's name: after other text, its first letters may
	// belong to that text.
	clean bool
}

var (
	colours = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	// head is what stands right before "NCCL INFO": host:pid:tid [device], and for WARN the place in NCCL's source.
	head = regexp.MustCompile(`([A-Za-z0-9_][A-Za-z0-9_.-]*):(\d+):(\d+) (?:\[(-?\d+)\] )?\s*(?:(\S+:\d+) )?\s*$`)
	// stamps are what launchers and NCCL itself put before a record: time stamps, [1,0]<stdout>:, [rank0]:, 3:, I0614.
	stamps = regexp.MustCompile(`^(?:\[[^\]]*\](?:<[^>]*>)?:?|[IWEF]?[0-9][0-9:.,/TZ+-]*|[A-Za-z]+[0-9]*:|<[^>]*>|\|?\s)*$`)
	// bareVersion is the line NCCL prints without a prefix.
	bareVersion = regexp.MustCompile(`^\s*(?:NCCL|RCCL) version ?:? ?(\d\S*)`)
)

// parseRecord finds the NCCL record in a line of a log. Everything before it may be the program's own text.
func parseRecord(line string) (record, bool) {
	if !strings.Contains(line, "NCCL ") {
		return record{}, false
	}
	if strings.IndexByte(line, 0x1b) >= 0 {
		line = colours.ReplaceAllString(line, "")
	}
	at, warn := strings.Index(line, "NCCL INFO"), false
	if at < 0 {
		at, warn = strings.Index(line, "NCCL WARN"), true
	}
	if at < 0 {
		return record{}, false
	}
	match := head.FindStringSubmatchIndex(line[:at])
	if match == nil {
		return record{}, false
	}
	r := record{host: line[match[2]:match[3]], pid: line[match[4]:match[5]], warn: warn}
	if match[10] >= 0 {
		r.source = line[match[10]:match[11]]
	}
	r.text = strings.TrimSpace(line[at+len("NCCL INFO"):])
	r.clean = stamps.MatchString(line[:match[2]])
	return r, true
}
