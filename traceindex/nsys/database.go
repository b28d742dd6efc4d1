package nsys

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strings"

	_ "modernc.org/sqlite" // registers driverName
)

// ErrNotExport marks an SQLite database that is no Nsight Systems export, or no database.
var ErrNotExport = errors.New("not an Nsight Systems export")

// driverName is SQLite translated to Go: the binary needs no C compiler and is built for every platform from any other.
const driverName = "sqlite"

const sqliteMagic = "SQLite format 3\x00"

// Sniff reports whether a file's first bytes are an SQLite database's. Whether it is an export, Read says (ErrNotExport).
func Sniff(head []byte) bool {
	return strings.HasPrefix(string(head[:min(len(head), 16)]), sqliteMagic)
}

// database is an open export.
type database struct {
	db   *sql.DB
	conn *sql.Conn
	// columns are the tables' columns, by table and name, all in lower case.
	columns map[string]map[string]bool
	// maxRows is how many rows a table of this file can have: a damaged one can lead in circles.
	maxRows int64
}

// open opens the file and reads its schema.
func open(ctx context.Context, path string) (*database, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkMagic(path); err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: absolute(path), RawQuery: "mode=ro&immutable=1&cache=private"}
	db, err := sql.Open(driverName, name.String())
	if err != nil {
		return nil, err
	}
	d := &database{db: db, columns: map[string]map[string]bool{}, maxRows: info.Size()/2 + 1024}
	if d.conn, err = db.Conn(ctx); err != nil {
		db.Close()
		return nil, err
	}
	if err := d.readSchema(ctx); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func checkMagic(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, len(sqliteMagic))
	if n, err := io.ReadFull(file, head); err != nil || string(head) != sqliteMagic {
		if n == 0 {
			return fmt.Errorf("%w: the file is empty", ErrNotExport)
		}
		return fmt.Errorf("%w: no SQLite database; export the report with `nsys export --type sqlite REPORT.nsys-rep`", ErrNotExport)
	}
	return nil
}

func (d *database) close() {
	if d.conn != nil {
		d.conn.Close()
	}
	d.db.Close()
}

// readSchema lists the tables that are plain tables, and their columns.
func (d *database) readSchema(ctx context.Context) error {
	for _, pragma := range []string{"PRAGMA query_only = 1", "PRAGMA trusted_schema = 0", "PRAGMA cell_size_check = 1", "PRAGMA mmap_size = 0", "PRAGMA cache_size = -8192"} {
		if _, err := d.conn.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	var tables []string
	err := d.query(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'table'", func(r row) error {
		name, definition := r.text(0), strings.ToUpper(strings.TrimSpace(r.text(1)))
		if strings.HasPrefix(definition, "CREATE TABLE") && len(tables) < 1000 {
			tables = append(tables, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range tables {
		columns := map[string]bool{}
		// hidden columns (generated ones) run expressions of the file; table_info leaves them out.
		err := d.query(ctx, "PRAGMA table_info("+quoted(table)+")", func(r row) error {
			columns[strings.ToLower(r.text(1))] = true
			return nil
		})
		if err != nil {
			return err
		}
		d.columns[strings.ToLower(table)] = columns
	}
	return nil
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// has reports whether a table is there.
func (d *database) has(table string) bool { return d.columns[strings.ToLower(table)] != nil }

// hasColumn reports whether a table has a column.
func (d *database) hasColumn(table, column string) bool {
	return d.columns[strings.ToLower(table)][strings.ToLower(column)]
}

// each calls take for every row of a table, with the columns named; columns that are missing are null. A table that is missing
// has no rows.
func (d *database) each(ctx context.Context, table string, columns []string, take func(row) error) error {
	known := d.columns[strings.ToLower(table)]
	if known == nil {
		return nil
	}
	selected := make([]string, len(columns))
	for i, column := range columns {
		selected[i] = "NULL"
		if known[strings.ToLower(column)] {
			selected[i] = quoted(column)
		}
	}
	err := d.query(ctx, "SELECT "+strings.Join(selected, ", ")+" FROM "+quoted(table), take)
	if err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	return nil
}

// row is one row of a result. It is good until the next one.
type row []driver.Value

func (d *database) query(ctx context.Context, text string, take func(row) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(ctx, text, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		values := make(row, len(rows.Columns()))
		for n := int64(0); ; n++ {
			switch err := rows.Next(values); {
			case errors.Is(err, io.EOF):
				return ctx.Err() // an interrupted query can end as if it had no more rows
			case err != nil:
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return err
			}
			if n > d.maxRows {
				return errors.New("more rows than the file can hold: the database is damaged")
			}
			if err := take(values); err != nil {
				return err
			}
		}
	})
}

// int is a column as a whole number; false for null and for what is none.
func (r row) int(i int) (int64, bool) {
	switch v := r[i].(type) {
	case int64:
		return v, true
	case float64:
		if v >= math.MinInt64 && v < math.MaxInt64 {
			return int64(v), true
		}
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// number is a column as a whole number, otherwise if it is none.
func (r row) number(i int, otherwise int64) int64 {
	if v, ok := r.int(i); ok {
		return v
	}
	return otherwise
}

// text is a column as text, "" for null.
func (r row) text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
