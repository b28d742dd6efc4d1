package report

import (
	"strings"
	"unicode/utf8"

	"stepline/pyscan"
)

// Position is a place for people and JSON: lines and columns from 1, columns in Unicode code points. Cell is the notebook
// cell (from 1) that Line counts in, 0 outside notebooks.
type Position struct{ Cell, Line, Column int }

// Locate turns a byte offset of a file into a Position.
type Locate func(file *pyscan.File, offset int) Position

// LocateInFile is the Locate of plain Python files. A byte order mark counts for no column.
func LocateInFile(file *pyscan.File, offset int) Position {
	offset = min(max(offset, 0), len(file.Text))
	line := file.Line(offset)
	start := file.Lines().Start(line)
	before := file.Text[start:offset]
	if line == 1 {
		before = strings.TrimPrefix(before, "\ufeff")
	}
	return Position{Line: line, Column: utf8.RuneCountInString(before) + 1}
}

// LocateIn is the Locate of a set of files of which some are notebooks: there lines count within the cell.
func LocateIn(notebooks map[*pyscan.File]*pyscan.Notebook) Locate {
	return func(file *pyscan.File, offset int) Position {
		at := LocateInFile(file, offset)
		if notebook := notebooks[file]; notebook != nil {
			if cell, line := notebook.Position(offset); cell > 0 {
				at.Cell, at.Line = cell, line
			}
		}
		return at
	}
}
