package parquet

import (
	"fmt"
	"reflect"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"stepline/traceindex/rankset"
)

// Table is one table of a set: its name and columns.
type Table struct {
	Name string
	// Doc says what a row is.
	Doc     string
	Columns []Column
	row     reflect.Type
	of      func(*rankset.Rank) any // pointer to the rank's slice of rows
}

// Column is a column of a table; none is ever null.
type Column struct {
	Name string
	// Type is as SQL calls it: BIGINT, DOUBLE, BOOLEAN, VARCHAR.
	Type, Doc string
	field     int
}

// heads is the table that makes a rank's files valid: it is written last.
const heads = "ranks"

// Tables are all tables of a set in the order in which they are written; ranks is the last.
var Tables = []Table{
	newTable("steps", "one step of the rank", func(r *rankset.Rank) any { return &r.Steps }),
	newTable("phases", "one part of a step as the training thread went through it", func(r *rankset.Rank) any { return &r.Phases }),
	newTable("gaps", "one stretch of a step with nothing on the GPU", func(r *rankset.Rank) any { return &r.Gaps }),
	newTable("idle", "the gaps of a step summed by cause, line and what the host did", func(r *rankset.Rank) any { return &r.Idle }),
	newTable("lines", "one source line, over the whole trace", func(r *rankset.Rank) any { return &r.Lines }),
	newTable("gpu", "GPU events summed by step, kernel, op, direction and line", func(r *rankset.Rank) any { return &r.GPU }),
	newTable("collectives", "one kernel of a communication library", func(r *rankset.Rank) any { return &r.Collectives }),
	newTable("timeline", "when the training thread was in which statement", func(r *rankset.Rank) any { return &r.Timeline }),
	newTable("findings", "one finding of the lint, priced with this rank's trace, or of the trace alone", func(r *rankset.Rank) any { return &r.Findings }),
	newTable("notes", "what limits the trace, and what was met while reading it", func(r *rankset.Rank) any { return &r.Notes }),
	newTable(heads, "the rank: one row", nil),
}

func newTable(name, doc string, of func(*rankset.Rank) any) Table {
	row := reflect.TypeFor[rankset.Info]()
	if of != nil {
		row = reflect.TypeOf(of(&rankset.Rank{})).Elem().Elem()
	}
	t := Table{Name: name, Doc: doc, row: row, of: of}
	for i := range row.NumField() {
		f := row.Field(i)
		t.Columns = append(t.Columns, Column{Name: f.Tag.Get("col"), Type: sqlTypes[f.Type.Kind()], Doc: f.Tag.Get("doc"), field: i})
	}
	return t
}

func tableNamed(name string) *Table {
	for i := range Tables {
		if Tables[i].Name == name {
			return &Tables[i]
		}
	}
	return nil
}

var sqlTypes = map[reflect.Kind]string{reflect.Int64: "BIGINT", reflect.Float64: "DOUBLE", reflect.Bool: "BOOLEAN", reflect.String: "VARCHAR"}

// schemaOf is the Parquet schema of a table: flat, every column required.
func (t *Table) schemaOf() (*schema.GroupNode, error) {
	fields := make(schema.FieldList, 0, len(t.Columns))
	for _, c := range t.Columns {
		var node schema.Node
		var err error
		switch t.row.Field(c.field).Type.Kind() {
		case reflect.Int64:
			node = schema.NewInt64Node(c.Name, pq.Repetitions.Required, -1)
		case reflect.Float64:
			node = schema.NewFloat64Node(c.Name, pq.Repetitions.Required, -1)
		case reflect.Bool:
			node = schema.NewBooleanNode(c.Name, pq.Repetitions.Required, -1)
		case reflect.String:
			node, err = schema.NewPrimitiveNodeLogical(c.Name, pq.Repetitions.Required, schema.StringLogicalType{}, pq.Types.ByteArray, -1, -1)
		default:
			err = fmt.Errorf("column %s has no Parquet type", c.Name)
		}
		if err != nil {
			return nil, err
		}
		fields = append(fields, node)
	}
	return schema.NewGroupNode("stepline_"+t.Name, pq.Repetitions.Required, fields, -1)
}
