package parquet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"stepline/traceindex/rankset"
)

// The keys of the files' metadata.
const (
	keySchema  = "stepline.schema"  // rankset.Schema
	keyTable   = "stepline.table"   // name of the table
	keyRank    = "stepline.rank"    // the rank's number
	keyWriting = "stepline.writing" // random, the same in all files of one Write
	keyTime    = "stepline.time"    // when, RFC 3339 with nanoseconds
	keyVersion = "stepline.version" // of the program
)

const (
	partName    = "part.parquet"
	partPattern = ".part-*.tmp" // a file on its way; the dot hides it from DuckDB, Spark and this package
)

// staleAfter is how old a file on its way must be to have been left behind by a job that was killed.
const staleAfter = time.Hour

// Write stores a rank in the set at dir, replacing what the set had of it. Other ranks can be written at the same time by other
// processes and machines. When it fails the rank's files are as they were; only where some could be put in place and others not,
// they are of two writings, which Open tells. version is the program's own, for the metadata.
func Write(ctx context.Context, dir string, rank *rankset.Rank, version string) (err error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	meta := map[string]string{
		keySchema: strconv.Itoa(rankset.Schema), keyRank: strconv.Itoa(rank.Number), keyWriting: hex.EncodeToString(id[:]),
		keyTime: time.Now().UTC().Format(time.RFC3339Nano), keyVersion: version,
	}
	ready := make([]string, 0, len(Tables)) // files on their way, by table
	defer func() {
		for _, name := range ready {
			err = errors.Join(err, removeIfThere(name))
		}
	}()
	for i := range Tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		meta[keyTable] = Tables[i].Name
		data, err := encode(&Tables[i], rank, meta)
		if err != nil {
			return fmt.Errorf("encoding table %s: %w", Tables[i].Name, err)
		}
		name, err := writeBeside(rankFolder(dir, Tables[i].Name, rank.Number), data)
		if err != nil {
			return err
		}
		ready = append(ready, name)
	}
	for _, name := range ready {
		if err := os.Rename(name, filepath.Join(filepath.Dir(name), partName)); err != nil {
			return err
		}
	}
	ready = nil
	return nil
}

func removeIfThere(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func rankFolder(dir, table string, rank int) string {
	return filepath.Join(dir, table, "rank="+strconv.Itoa(rank))
}

// writeBeside stores data in a folder under a passing name and returns that.
func writeBeside(folder string, data []byte) (name string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	if left, err := filepath.Glob(filepath.Join(folder, partPattern)); err == nil {
		for _, name := range left {
			if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > staleAfter {
				os.Remove(name) // what cannot be removed does no harm
			}
		}
	}
	f, err := os.CreateTemp(folder, partPattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// encode is a table of a rank as a Parquet file.
func encode(t *Table, rank *rankset.Rank, meta map[string]string) ([]byte, error) {
	root, err := t.schemaOf()
	if err != nil {
		return nil, err
	}
	kv := metadata.NewKeyValueMetadata()
	for _, key := range []string{keySchema, keyTable, keyRank, keyWriting, keyTime, keyVersion} {
		if err := kv.Append(key, meta[key]); err != nil {
			return nil, err
		}
	}
	// Numbers hardly repeat: dictionaries are for words.
	options := []pq.WriterProperty{pq.WithCompression(compress.Codecs.Snappy), pq.WithCreatedBy("stepline " + meta[keyVersion]), pq.WithDictionaryDefault(false), pq.WithStats(true)}
	for _, c := range t.Columns {
		if t.row.Field(c.field).Type.Kind() == reflect.String {
			options = append(options, pq.WithDictionaryFor(c.Name, true))
		}
	}
	var out bytes.Buffer
	w, err := file.NewParquetWriterWithError(&out, root, file.WithWriterProps(pq.NewWriterProperties(options...)), file.WithWriteMetadata(kv))
	if err != nil {
		return nil, err
	}
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		return nil, err
	}
	rows := t.rows(rank)
	for _, c := range t.Columns {
		column, err := group.NextColumn()
		if err != nil {
			return nil, err
		}
		if err := writeColumn(column, rows, c.field); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		if err := column.Close(); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	if err := errors.Join(group.Close(), w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// rows is the table's slice of a rank.
func (t *Table) rows(rank *rankset.Rank) reflect.Value {
	if t.of == nil {
		return reflect.ValueOf([]rankset.Info{rank.Info})
	}
	return reflect.ValueOf(t.of(rank)).Elem()
}

func writeColumn(column file.ColumnChunkWriter, rows reflect.Value, field int) error {
	n := rows.Len()
	var err error
	switch w := column.(type) {
	case *file.Int64ColumnChunkWriter:
		values := make([]int64, n)
		for i := range values {
			values[i] = rows.Index(i).Field(field).Int()
		}
		_, err = w.WriteBatch(values, nil, nil)
	case *file.Float64ColumnChunkWriter:
		values := make([]float64, n)
		for i := range values {
			values[i] = rows.Index(i).Field(field).Float()
		}
		_, err = w.WriteBatch(values, nil, nil)
	case *file.BooleanColumnChunkWriter:
		values := make([]bool, n)
		for i := range values {
			values[i] = rows.Index(i).Field(field).Bool()
		}
		_, err = w.WriteBatch(values, nil, nil)
	case *file.ByteArrayColumnChunkWriter:
		values := make([]pq.ByteArray, n)
		for i := range values {
			values[i] = pq.ByteArray(strings.ToValidUTF8(rows.Index(i).Field(field).String(), "\ufffd"))
		}
		_, err = w.WriteBatch(values, nil, nil)
	default:
		err = fmt.Errorf("%T cannot be written", column)
	}
	return err
}
