package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strconv"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"stepline/traceindex/rankset"
)

// Bounds of what a file of one rank can be; a footer that claims more is damaged.
const (
	maxFileBytes = 4 << 30
	maxRows      = 1 << 27
)

// origin is what a file's metadata says.
type origin struct {
	writing, time string
}

// decoder reads tables. It keeps the words it has met, which are the same on all ranks. It is used by one goroutine.
type decoder struct {
	words   map[string]string
	values  []pq.ByteArray
	ints    []int64
	floats  []float64
	bools   []bool
	present []int16
}

func newDecoder() *decoder {
	const batch = 4096
	return &decoder{words: map[string]string{}, values: make([]pq.ByteArray, batch), ints: make([]int64, batch), floats: make([]float64, batch), bools: make([]bool, batch), present: make([]int16, batch)}
}

// read fills a rank's table from a file. Damage of any kind is an error that names the file.
func (d *decoder) read(path string, t *Table, rank *rankset.Rank) (o origin, err error) {
	defer func() {
		if trouble := recover(); trouble != nil { // arrow-go panics on some damaged files
			err = fmt.Errorf("%s: damaged: %v", path, trouble)
		}
	}()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, fmt.Errorf("%s: missing", path)
	}
	if err == nil && info.Size() > maxFileBytes {
		return o, fmt.Errorf("%s: %d bytes are too many for one rank", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return o, err
	}
	if len(data) == 0 {
		return o, fmt.Errorf("%s: empty", path)
	}
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		return o, fmt.Errorf("%s: damaged: %w", path, err)
	}
	defer r.Close()
	if o, err = originOf(r, t.Name, rank.Number); err != nil {
		return o, fmt.Errorf("%s: %w", path, err)
	}
	if r.NumRows() < 0 || r.NumRows() > maxRows {
		return o, fmt.Errorf("%s: damaged: it claims %d rows", path, r.NumRows())
	}
	if err := d.readRows(r, t, rank); err != nil {
		return o, fmt.Errorf("%s: damaged: %w", path, err)
	}
	return o, nil
}

// originOf checks that a file is what its place says.
func originOf(r *file.Reader, table string, rank int) (origin, error) {
	value := func(key string) string {
		if v := r.MetaData().KeyValueMetadata().FindValue(key); v != nil {
			return *v
		}
		return ""
	}
	version := value(keySchema)
	switch n, err := strconv.Atoi(version); {
	case version == "":
		return origin{}, errors.New("a Parquet file that stepline did not write")
	case err != nil || n > rankset.Schema:
		return origin{}, fmt.Errorf("written by a newer stepline (schema %s; this one reads %d): read it with that one, or index the rank again", version, rankset.Schema)
	case n < rankset.Schema:
		return origin{}, fmt.Errorf("written by an older stepline (schema %s; this one reads %d): index the rank again", version, rankset.Schema)
	}
	if got := value(keyTable); got != table {
		return origin{}, fmt.Errorf("it holds table %q", got)
	}
	if got := value(keyRank); got != strconv.Itoa(rank) {
		return origin{}, fmt.Errorf("it holds rank %s", got)
	}
	return origin{value(keyWriting), value(keyTime)}, nil
}

// readRows appends the file's rows. Columns that the file does not have stay zero.
func (d *decoder) readRows(r *file.Reader, t *Table, rank *rankset.Rank) error {
	if t.of == nil && r.NumRows() != 1 {
		return fmt.Errorf("%d rows where there is one", r.NumRows())
	}
	rows := reflect.MakeSlice(reflect.SliceOf(t.row), int(r.NumRows()), int(r.NumRows()))
	done := 0
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		n := int(group.NumRows())
		if n < 0 || done+n > rows.Len() {
			return errors.New("its row groups have more rows than the file")
		}
		for _, c := range t.Columns {
			at := r.MetaData().Schema.ColumnIndexByName(c.Name)
			if at < 0 {
				continue
			}
			column, err := group.Column(at)
			if err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
			if err := d.readColumn(column, rows.Slice(done, done+n), c.field); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		done += n
	}
	if done != rows.Len() {
		return errors.New("rows are missing")
	}
	if t.of == nil {
		rank.Info = rows.Index(0).Interface().(rankset.Info)
		return nil
	}
	reflect.ValueOf(t.of(rank)).Elem().Set(rows)
	return nil
}

// readColumn fills one field of the rows. Nulls, which other programs may write, are zero.
func (d *decoder) readColumn(column file.ColumnChunkReader, rows reflect.Value, field int) error {
	kind := rows.Type().Elem().Field(field).Type.Kind()
	for at := 0; at < rows.Len(); {
		want := int64(min(rows.Len()-at, len(d.present)))
		var slots int64
		var values int
		var err error
		var set func(to reflect.Value, value int)
		switch r := column.(type) {
		case *file.Int64ColumnChunkReader:
			slots, values, err = r.ReadBatch(want, d.ints, d.present, nil)
			set = func(to reflect.Value, i int) { to.SetInt(d.ints[i]) }
			err = errors.Join(err, expect(kind, reflect.Int64))
		case *file.Float64ColumnChunkReader:
			slots, values, err = r.ReadBatch(want, d.floats, d.present, nil)
			set = func(to reflect.Value, i int) { to.SetFloat(d.floats[i]) }
			err = errors.Join(err, expect(kind, reflect.Float64))
		case *file.BooleanColumnChunkReader:
			slots, values, err = r.ReadBatch(want, d.bools, d.present, nil)
			set = func(to reflect.Value, i int) { to.SetBool(d.bools[i]) }
			err = errors.Join(err, expect(kind, reflect.Bool))
		case *file.ByteArrayColumnChunkReader:
			slots, values, err = r.ReadBatchInPage(want, d.values, d.present, nil)
			set = d.setWord()
			err = errors.Join(err, expect(kind, reflect.String))
		default:
			err = fmt.Errorf("it has another type (%T)", column)
		}
		if err != nil {
			return err
		}
		if slots == 0 {
			return errors.New("it ends early")
		}
		nullable := column.Descriptor().MaxDefinitionLevel() > 0
		next := 0
		for i := range int(slots) {
			if nullable && d.present[i] == 0 {
				continue
			}
			if next == values {
				return errors.New("it ends early")
			}
			set(rows.Index(at+i).Field(field), next)
			next++
		}
		at += int(slots)
	}
	return nil
}

func expect(got, want reflect.Kind) error {
	if got != want {
		return fmt.Errorf("it has another type (%s)", want)
	}
	return nil
}

// setWord sets strings, each word kept once: neighbours mostly are alike.
func (d *decoder) setWord() func(to reflect.Value, i int) {
	var lastBytes []byte
	var last string
	return func(to reflect.Value, i int) {
		if v := []byte(d.values[i]); lastBytes == nil || !bytes.Equal(v, lastBytes) {
			word, known := d.words[string(v)]
			if !known {
				word = string(v)
				d.words[word] = word
			}
			last, lastBytes = word, v
		}
		to.SetString(last)
	}
}
