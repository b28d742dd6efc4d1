package memsnap

import "unsafe"

// appended is append that charges what the slice grew by.
func appended[T any](h *heap, list []T, items ...T) []T {
	before := cap(list)
	if list = append(list, items...); cap(list) > before {
		h.bytes += int64(cap(list)-before) * int64(unsafe.Sizeof(*new(T)))
	}
	return list
}

// rows is a long list that grows by pieces: a slice of hundreds of megabytes is there twice while it grows, and is garbage
// once more after that.
type rows[T any] struct {
	pieces [][]T
	n      int
}

const rowsInPiece = 1 << 12

// at is row i, which must be there.
func (r *rows[T]) at(i int64) *T { return &r.pieces[i/rowsInPiece][i%rowsInPiece] }

// add adds row n.
func (r *rows[T]) add(h *heap, row T) {
	if r.n%rowsInPiece == 0 {
		r.pieces = append(r.pieces, make([]T, rowsInPiece))
		h.bytes += rowsInPiece * int64(unsafe.Sizeof(row))
	}
	r.pieces[r.n/rowsInPiece][r.n%rowsInPiece] = row
	r.n++
}
