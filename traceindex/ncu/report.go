package ncu

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"stepline/traceindex"
)

// Report is one or more CSV files of Nsight Compute. It is immutable once read.
type Report struct {
	Files []string
	// Device is the GPU's name, "" unless the raw page tells it.
	Device   string
	Launches []Launch // in the order of the files
	Warnings []traceindex.Warning

	byBase map[string][]int // base name → rows of Launches
}

// Launch is one profiled kernel launch.
type Launch struct {
	File      string
	ID        int64 // ncu's "ID", from 0 in each profiled process
	ProcessID string
	Kernel    string // as ncu demangles it: namespaces may be cut, parameters are T1, T2, …
	// Grid and Block are zero if the report does not tell.
	Grid, Block [3]int32
	Device      string // the device's number
	Capability  string // compute capability, "9.0"
	Measures    Measures
	Rules       []Rule
}

// Rule is what one of ncu's own rules says about a launch.
type Rule struct {
	Section, Name string
	Kind          string // "OPT", "WRN", "INF"
	Text          string
	// SpeedupPercent is the rule's estimate, NaN if it gives none; Global tells that it is of the whole kernel.
	SpeedupPercent float64
	Global         bool
}

// Sniff reports whether a file's first bytes (64 KiB are plenty) look like ncu's CSV: its header is among the lines, or ncu's
// ==PROF== lines stand before it.
func Sniff(head []byte) bool {
	if text, err := decode(bytes.NewReader(head)); err == nil {
		head, _ = io.ReadAll(io.LimitReader(text, 1<<20))
	}
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("==PROF== ")) && bytes.Contains(line, []byte("rofil")) {
			return true
		}
		if bytes.Contains(line, []byte("Kernel Name")) {
			if _, ok := headerComma(strings.TrimRight(string(line), "\r\n")); ok {
				return true
			}
		}
	}
	return false
}

// Read reads a CSV file, gzipped or not. The error names the file; a file without any launch is an error.
func Read(ctx context.Context, path string) (*Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ncu: %w", err)
	}
	defer file.Close()
	return Parse(ctx, file, path)
}

// decode undoes gzip and the UTF-16 that PowerShell's > writes.
func decode(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReader(unzipped)
	}
	return transform.NewReader(in, unicode.BOMOverride(transform.Nop)), nil
}

// Parse reads ncu's output from r; name is the file's, for messages.
func Parse(ctx context.Context, r io.Reader, name string) (*Report, error) {
	text, err := decode(r)
	if err != nil {
		return nil, fmt.Errorf("ncu: %s: %w", name, err)
	}
	p := &parser{
		records: newRecords(text),
		report:  &Report{Files: []string{name}},
		rows:    map[launchKey]int{},
		texts:   map[string]string{},
	}
	if err := p.run(ctx); err != nil {
		return nil, fmt.Errorf("ncu: %s: at byte %d: %w", name, p.records.offset, err)
	}
	if len(p.report.Launches) == 0 {
		return nil, fmt.Errorf("ncu: %s: no kernel launch in it; export with `ncu --csv --page raw` or `--page details`", name)
	}
	p.resolve()
	for _, at := range p.records.broken {
		p.report.Warnings = append(p.report.Warnings, traceindex.Warning{
			Code: "bad-row", Message: "a row's quotes do not close; it is left out", File: name, Byte: &at})
	}
	p.report.index()
	return p.report, nil
}

type launchKey struct {
	header  int // each profiled process prints its own header
	process string
	id      int64
}

// value is a number as written; the file's locale is known only at the end.
type value struct {
	launch int32
	place  place
	text   string
	unit   string
}

type parser struct {
	records *records
	report  *Report
	rows    map[launchKey]int
	texts   map[string]string // interned: rule texts and kernel names repeat

	headers  int
	columns  map[string]int
	raw      []rawColumn // of the raw page, columns that are measures
	units    []string
	numbers  decimals
	values   []value
	dims     []value // launch__grid_dim_x …; place.measure is 0–2 for grid, 3–5 for block
	speedups []speedup
}

type rawColumn struct {
	column int
	place  place
	dim    bool
}

type speedup struct {
	launch, rule int32
	text         string
}

var dimMetrics = map[string]uint8{
	"launch__grid_dim_x": 0, "launch__grid_dim_y": 1, "launch__grid_dim_z": 2,
	"launch__block_dim_x": 3, "launch__block_dim_y": 4, "launch__block_dim_z": 5,
}

func (p *parser) run(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		fields, header, at, err := p.records.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header {
			p.header(fields)
			continue
		}
		p.row(fields, at)
	}
}

func (p *parser) header(fields []string) {
	p.headers++
	p.columns = make(map[string]int, len(fields))
	p.raw, p.units = nil, nil
	for i, name := range fields {
		name = strings.TrimSpace(name)
		if _, ok := p.columns[name]; !ok {
			p.columns[name] = i
		}
		if target, ok := placeOf("", name); ok {
			p.raw = append(p.raw, rawColumn{column: i, place: target})
		} else if dim, ok := dimMetrics[name]; ok {
			p.raw = append(p.raw, rawColumn{column: i, place: place{measure: dim}, dim: true})
		}
	}
}

func (p *parser) cell(fields []string, column string) string {
	if i, ok := p.columns[column]; ok && i < len(fields) {
		return fields[i]
	}
	return ""
}

func (p *parser) row(fields []string, at int64) {
	idText := strings.TrimSpace(p.cell(fields, "ID"))
	kernel := p.cell(fields, "Kernel Name")
	_, hasID := p.columns["ID"]
	if hasID && idText == "" && kernel == "" {
		p.units = fields // the raw page's second row
		return
	}
	id := int64(0)
	if hasID {
		var err error
		if id, err = strconv.ParseInt(strings.NewReplacer(",", "", ".", "").Replace(idText), 10, 64); err != nil || kernel == "" {
			p.records.foreign++
			return
		}
	}
	if len(fields) > len(p.columns)+1 {
		p.report.Warnings = append(p.report.Warnings, traceindex.Warning{Code: "bad-row",
			Message: fmt.Sprintf("a row of %d cells under %d columns; it is left out", len(fields), len(p.columns)), File: p.report.Files[0], Byte: &at})
		return
	}
	launch := p.launch(fields, id, kernel)
	if name := p.cell(fields, "Metric Name"); name != "" {
		p.metric(launch, p.cell(fields, "Section Name"), name, p.cell(fields, "Metric Unit"), p.cell(fields, "Metric Value"))
	}
	if rule := p.cell(fields, "Rule Name"); rule != "" {
		p.rule(launch, fields, rule)
	}
	for _, column := range p.raw {
		if column.column >= len(fields) {
			break
		}
		v := value{launch: int32(launch), place: column.place, text: fields[column.column]}
		if column.column < len(p.units) {
			v.unit = p.units[column.column]
		}
		p.numbers.note(v.text)
		if column.dim {
			p.dims = append(p.dims, v)
		} else {
			p.values = append(p.values, v)
		}
	}
	if name, ok := p.columns["device__attribute_display_name"]; ok && name < len(fields) && p.report.Device == "" {
		p.report.Device = fields[name]
	}
}

func (p *parser) launch(fields []string, id int64, kernel string) int {
	key := launchKey{header: p.headers, process: p.cell(fields, "Process ID"), id: id}
	if row, ok := p.rows[key]; ok {
		return row
	}
	row := len(p.report.Launches)
	p.rows[key] = row
	p.report.Launches = append(p.report.Launches, Launch{
		File: p.report.Files[0], ID: id, ProcessID: key.process, Kernel: p.intern(kernel),
		Grid: parseDims(p.cell(fields, "Grid Size")), Block: parseDims(p.cell(fields, "Block Size")),
		Device: p.intern(p.cell(fields, "Device")), Capability: p.intern(p.cell(fields, "CC")),
		Measures: unknownMeasures(),
	})
	return row
}

func (p *parser) intern(text string) string {
	if known, ok := p.texts[text]; ok {
		return known
	}
	text = strings.Clone(text)
	p.texts[text] = text
	return text
}

func (p *parser) metric(launch int, section, name, unit, text string) {
	p.numbers.note(text)
	if dim, ok := dimMetrics[name]; ok {
		p.dims = append(p.dims, value{launch: int32(launch), place: place{measure: dim}, text: text})
		return
	}
	target, ok := placeOf(section, name)
	if !ok {
		return
	}
	p.values = append(p.values, value{launch: int32(launch), place: target, text: strings.Clone(text), unit: p.intern(unit)})
}

func (p *parser) rule(launch int, fields []string, name string) {
	rules := &p.report.Launches[launch].Rules
	*rules = append(*rules, Rule{
		Section: p.intern(p.cell(fields, "Section Name")), Name: p.intern(name), Kind: p.intern(p.cell(fields, "Rule Type")),
		Text:           p.intern(strings.Join(strings.Fields(p.cell(fields, "Rule Description")), " ")),
		SpeedupPercent: math.NaN(),
		Global:         strings.EqualFold(p.cell(fields, "Estimated Speedup Type"), "global"),
	})
	if text := p.cell(fields, "Estimated Speedup"); text != "" {
		p.numbers.note(text)
		p.speedups = append(p.speedups, speedup{int32(launch), int32(len(*rules) - 1), strings.Clone(text)})
	}
}

// resolve turns the texts into numbers, now that the file's decimal separator is known.
func (p *parser) resolve() {
	decimal := p.numbers.decimal(p.records.comma)
	best := map[[2]int32]uint8{} // (launch, measure) → rank of the name it came from
	for _, v := range p.values {
		row := measures[v.place.measure]
		number := row.inBaseUnit(parseNumber(v.text, decimal), v.unit)
		if math.IsNaN(number) {
			continue
		}
		key := [2]int32{v.launch, int32(v.place.measure)}
		if rank, ok := best[key]; ok && rank < v.place.rank {
			continue
		}
		best[key] = v.place.rank
		*row.field(&p.report.Launches[v.launch].Measures) = number
	}
	for _, v := range p.dims {
		launch := &p.report.Launches[v.launch]
		number := parseNumber(v.text, decimal)
		if math.IsNaN(number) || number < 1 || number > math.MaxInt32 {
			continue
		}
		if v.place.measure < 3 {
			launch.Grid[v.place.measure] = int32(number)
		} else {
			launch.Block[v.place.measure-3] = int32(number)
		}
	}
	for _, s := range p.speedups {
		p.report.Launches[s.launch].Rules[s.rule].SpeedupPercent = parseNumber(s.text, decimal)
	}
	for i := range p.report.Launches {
		p.report.Launches[i].readRules()
	}
}

// Merge makes one report of several. Two pages of one run (same process and ID, same kernel) become one launch that knows what
// both know.
func Merge(reports ...*Report) *Report {
	merged := &Report{}
	type key struct {
		process, kernel string
		id              int64
		grid, block     [3]int32
	}
	rows := map[key][]int{}
	for _, report := range reports {
		taken := map[int]bool{} // rows of merged a launch of this report already went to
		merged.Files = append(merged.Files, report.Files...)
		merged.Warnings = append(merged.Warnings, report.Warnings...)
		if merged.Device == "" {
			merged.Device = report.Device
		}
	launches:
		for _, launch := range report.Launches {
			k := key{launch.ProcessID, launch.Kernel, launch.ID, launch.Grid, launch.Block}
			for _, row := range rows[k] {
				if launch.ProcessID != "" && !taken[row] {
					taken[row] = true
					merged.Launches[row].Measures.fill(&launch.Measures)
					merged.Launches[row].Rules = append(merged.Launches[row].Rules, launch.Rules...)
					continue launches
				}
			}
			taken[len(merged.Launches)] = true
			rows[k] = append(rows[k], len(merged.Launches))
			launch.Rules = append([]Rule(nil), launch.Rules...)
			merged.Launches = append(merged.Launches, launch)
		}
	}
	merged.index()
	return merged
}
