package main

import (
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/mattn/go-isatty"
	"github.com/muesli/termenv"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"stepline/report"
)

// pipeWidth is the width of tables where nobody says how wide the output is.
const pipeWidth = 100

// outputWidth is the number of cells of a line: COLUMNS if set, else the terminal's own width.
func (io streams) outputWidth() int {
	if columns, err := strconv.Atoi(io.environment("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := io.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return pipeWidth
}

// style picks colours for standard output by --color, NO_COLOR (https://no-color.org), CLICOLOR_FORCE and the terminal.
func (io streams) style(cmd *cobra.Command) (report.Style, error) {
	choice, err := cmd.Flags().GetString("color")
	if err != nil {
		return report.Style{}, err
	}
	profile := termenv.Ascii
	switch choice {
	case "always":
		profile = termenv.ANSI256
	case "never":
	case "auto":
		force := io.environment("CLICOLOR_FORCE")
		switch {
		case io.environment("NO_COLOR") != "":
		case force != "" && force != "0":
			profile = termenv.ANSI256
		case isTerminal(io.out) && io.environment("TERM") != "dumb":
			profile = termenv.ANSI256
		}
	default:
		return report.Style{}, usageError("--color %s: use auto, always or never", choice)
	}
	renderer := lipgloss.NewRenderer(io.out)
	renderer.SetColorProfile(profile)
	return report.NewStyle(renderer), nil
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && (isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd()))
}

// progress shows how far long work is, on a terminal's standard error only and only once it has taken a moment.
type progress struct {
	mu     sync.Mutex
	out    io.Writer // nil: nothing is shown
	bar    *progressbar.ProgressBar
	stage  string
	total  int64
	since  time.Time
	closed bool
}

const progressDelay = 300 * time.Millisecond

func newProgress(io streams) *progress {
	p := &progress{since: time.Now()}
	if isTerminal(io.err) && io.environment("TERM") != "dumb" {
		p.out = io.err
	}
	return p
}

// update shows a stage; done and total are bytes, total 0 where it is unknown.
func (p *progress) update(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || p.closed || time.Since(p.since) < progressDelay {
		return
	}
	if p.bar == nil || stage != p.stage || total != p.total {
		p.clear()
		p.stage, p.total = stage, total
		bound := total
		if bound <= 0 {
			bound = -1 // a spinner
		}
		p.bar = progressbar.NewOptions64(bound,
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(stage),
			progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(80*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn stops no work
}

// close removes the bar.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.closed = true
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
