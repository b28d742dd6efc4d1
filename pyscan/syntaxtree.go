package pyscan

/*
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The tree-sitter C library and the Python grammar are compiled into the binary by the imports of
// github.com/smacker/go-tree-sitter below. Its Go API costs a cgo call and a map entry per node and
// leaves C memory to finalizers; one C function that parses, flattens and frees costs one call per file.
// These declarations repeat api.h of the version pinned in go.mod (TestFlatTreeMatchesBinding compares
// the two). They are weak so that cgo can link this package on its own before the library is there.
typedef struct TSLanguage TSLanguage;
typedef struct TSParser TSParser;
typedef struct TSTree TSTree;
typedef struct { uint32_t context[4]; const void *id; const TSTree *tree; } TSNode;
typedef struct { const void *tree; const void *id; uint32_t context[3]; } TSTreeCursor;
#define WEAK __attribute__((weak))
extern const TSLanguage *tree_sitter_python(void) WEAK;
extern TSParser *ts_parser_new(void) WEAK;
extern void ts_parser_delete(TSParser *) WEAK;
extern bool ts_parser_set_language(TSParser *, const TSLanguage *) WEAK;
extern void ts_parser_set_timeout_micros(TSParser *, uint64_t) WEAK;
extern TSTree *ts_parser_parse_string(TSParser *, const TSTree *, const char *, uint32_t) WEAK;
extern void ts_tree_delete(TSTree *) WEAK;
extern TSNode ts_tree_root_node(const TSTree *) WEAK;
extern uint32_t ts_node_start_byte(TSNode) WEAK;
extern uint32_t ts_node_end_byte(TSNode) WEAK;
extern uint16_t ts_node_symbol(TSNode) WEAK;
extern bool ts_node_is_missing(TSNode) WEAK;
extern TSTreeCursor ts_tree_cursor_new(TSNode) WEAK;
extern void ts_tree_cursor_delete(TSTreeCursor *) WEAK;
extern TSNode ts_tree_cursor_current_node(const TSTreeCursor *) WEAK;
extern uint16_t ts_tree_cursor_current_field_id(const TSTreeCursor *) WEAK;
extern bool ts_tree_cursor_goto_parent(TSTreeCursor *) WEAK;
extern bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *) WEAK;
extern bool ts_tree_cursor_goto_first_child(TSTreeCursor *) WEAK;
extern uint32_t ts_language_symbol_count(const TSLanguage *) WEAK;
extern const char *ts_language_symbol_name(const TSLanguage *, uint16_t) WEAK;
extern int ts_language_symbol_type(const TSLanguage *, uint16_t) WEAK;
extern uint32_t ts_language_field_count(const TSLanguage *) WEAK;
extern const char *ts_language_field_name_for_id(const TSLanguage *, uint16_t) WEAK;

// A flatNode is one syntax node in preorder; next is the index after its last descendant.
typedef struct { uint32_t start, end, next; uint8_t kind, field, missing, unused; } flatNode;

typedef struct { flatNode *nodes, *comments; uint32_t count, commentCount; int status; } flatTree;

enum { actKeep, actDrop, actLeaf, actComment };
enum { statusOK, statusTimeout, statusMemory };

static bool grow(flatNode **array, uint32_t *capacity, uint32_t count) {
	if (count < *capacity) return true;
	uint32_t wanted = *capacity ? *capacity * 2 : 1024;
	flatNode *moved = realloc(*array, (size_t)wanted * sizeof(flatNode));
	if (!moved) return false;
	*array = moved;
	*capacity = wanted;
	return true;
}

static bool flatten(TSTreeCursor *cursor, flatTree *out, uint32_t hint, const uint8_t *kinds, const uint8_t *actions, uint32_t symbols, uint8_t errorKind) {
	uint32_t capacity = 0, commentCapacity = 0, depth = 0, stackCapacity = 256;
	uint32_t *open = malloc(stackCapacity * sizeof(uint32_t));
	if (!open) return false;
	capacity = hint;
	out->nodes = malloc((size_t)capacity * sizeof(flatNode));
	if (!out->nodes) { free(open); return false; }
	bool ok = true;
	for (;;) {
		TSNode node = ts_tree_cursor_current_node(cursor);
		uint16_t symbol = ts_node_symbol(node);
		uint8_t action = symbol < symbols ? actions[symbol] : actKeep;
		uint32_t self = 0;
		bool kept = action == actKeep || action == actLeaf;
		if (kept) {
			if (!grow(&out->nodes, &capacity, out->count)) { ok = false; break; }
			self = out->count++;
			flatNode *flat = &out->nodes[self];
			flat->start = ts_node_start_byte(node);
			flat->end = ts_node_end_byte(node);
			flat->kind = symbol < symbols ? kinds[symbol] : errorKind;
			flat->field = (uint8_t)ts_tree_cursor_current_field_id(cursor);
			flat->missing = flat->start == flat->end && ts_node_is_missing(node);
			flat->unused = 0;
			flat->next = self + 1;
		} else if (action == actComment) {
			if (!grow(&out->comments, &commentCapacity, out->commentCount)) { ok = false; break; }
			flatNode *flat = &out->comments[out->commentCount++];
			memset(flat, 0, sizeof *flat);
			flat->start = ts_node_start_byte(node);
			flat->end = ts_node_end_byte(node);
		}
		if (action == actKeep && ts_tree_cursor_goto_first_child(cursor)) {
			if (depth == stackCapacity) {
				uint32_t *moved = realloc(open, (size_t)stackCapacity * 2 * sizeof(uint32_t));
				if (!moved) { ok = false; break; }
				open = moved;
				stackCapacity *= 2;
			}
			open[depth++] = self;
			continue;
		}
		while (!ts_tree_cursor_goto_next_sibling(cursor)) {
			if (depth == 0 || !ts_tree_cursor_goto_parent(cursor)) goto done;
			out->nodes[open[--depth]].next = out->count;
		}
	}
done:
	free(open);
	return ok;
}

static flatTree parseFlat(const char *text, uint32_t length, uint64_t timeoutMicros, const uint8_t *kinds, const uint8_t *actions, uint32_t symbols, uint8_t errorKind) {
	flatTree out = {0};
	TSParser *parser = ts_parser_new();
	ts_parser_set_language(parser, tree_sitter_python());
	ts_parser_set_timeout_micros(parser, timeoutMicros);
	TSTree *tree = ts_parser_parse_string(parser, NULL, text, length);
	ts_parser_delete(parser);
	if (!tree) {
		out.status = statusTimeout;
		return out;
	}
	TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
	if (!flatten(&cursor, &out, length / 4 + 64, kinds, actions, symbols, errorKind)) out.status = statusMemory;
	ts_tree_cursor_delete(&cursor);
	ts_tree_delete(tree);
	return out;
}

static void freeFlat(flatTree tree) { free(tree.nodes); free(tree.comments); }

static const char *fieldName(uint16_t id) { return ts_language_field_name_for_id(tree_sitter_python(), id); }
static uint32_t fieldCount(void) { return ts_language_field_count(tree_sitter_python()); }
static const char *symbolName(uint16_t id) { return ts_language_symbol_name(tree_sitter_python(), id); }
static int symbolType(uint16_t id) { return ts_language_symbol_type(tree_sitter_python(), id); }
static uint32_t symbolCount(void) { return ts_language_symbol_count(tree_sitter_python()); }
*/
import "C"

import (
	"bytes"
	"errors"
	"time"
	"unsafe"

	_ "github.com/smacker/go-tree-sitter"        // the tree-sitter C library
	_ "github.com/smacker/go-tree-sitter/python" // the Python grammar
)

// syntaxNode is one node of the concrete syntax tree, laid out as the C flatNode.
// The tree is a slice in preorder: the children of node i start at i+1, and next is the index after
// the node's last descendant. Comments are kept apart, contents of strings are left out.
type syntaxNode struct {
	start, end, next uint32
	kind             kind
	field            field
	missing          bool // inserted by the parser's error recovery, zero wide
	_                uint8
}

// parseTimeout bounds the parser's work on hostile input; ordinary code parses at 20–40 MB/s.
const parseTimeout = 10 * time.Second

var (
	errParseTimeout = errors.New("the parser gave up after " + parseTimeout.String())
	errParseMemory  = errors.New("out of memory while parsing")
)

// parseSyntax parses the text and calls use with the syntax tree and the comments. Both are backed by C
// memory that is freed when use returns: nothing may keep them.
func parseSyntax(text string, use func(nodes, comments []syntaxNode)) error {
	source := parserInput(text)
	tree := C.parseFlat((*C.char)(unsafe.Pointer(unsafe.SliceData(source))), C.uint32_t(len(text)),
		C.uint64_t(parseTimeout.Microseconds()),
		(*C.uint8_t)(unsafe.Pointer(&grammar.kinds[0])), (*C.uint8_t)(unsafe.Pointer(&grammar.actions[0])),
		C.uint32_t(len(grammar.kinds)), C.uint8_t(kindError))
	defer C.freeFlat(tree)
	switch tree.status {
	case C.statusTimeout:
		return errParseTimeout
	case C.statusMemory:
		return errParseMemory
	}
	use(unsafe.Slice((*syntaxNode)(unsafe.Pointer(tree.nodes)), int(tree.count)),
		unsafe.Slice((*syntaxNode)(unsafe.Pointer(tree.comments)), int(tree.commentCount)))
	return nil
}

// parserInput copies the text for the parser, with what the grammar's scanner mistakes replaced one for
// one: a lone \r ends a line in Python but not in the scanner; a NUL ends the scanner's input.
func parserInput(text string) []byte {
	source := make([]byte, len(text)+1)
	copy(source, text)
	body := source[:len(text)]
	for at := 0; ; at++ {
		next := bytes.IndexByte(body[at:], '\r')
		if next < 0 {
			break
		}
		at += next
		if at+1 == len(body) || body[at+1] != '\n' {
			body[at] = '\n'
		}
	}
	for at := bytes.IndexByte(body, 0); at >= 0; at = bytes.IndexByte(body, 0) {
		body[at] = ' '
	}
	return source
}

// grammar holds the grammar's symbols and fields as this package's kinds, read once from the library so
// that a new grammar version with other numbers needs no change here.
var grammar = loadGrammar()

type grammarTables struct {
	kinds   []kind  // by symbol
	actions []uint8 // by symbol: keep, drop, leaf, comment
}

func loadGrammar() grammarTables {
	symbols := int(C.symbolCount())
	tables := grammarTables{kinds: make([]kind, symbols), actions: make([]uint8, symbols)}
	for symbol := range symbols {
		name := C.GoString(C.symbolName(C.uint16_t(symbol)))
		if C.symbolType(C.uint16_t(symbol)) == 0 { // a named node
			tables.kinds[symbol] = namedKinds[name]
			switch name {
			case "comment":
				tables.actions[symbol] = C.actComment
			case "line_continuation":
				tables.actions[symbol] = C.actDrop
			case "identifier", "string_start", "string_content", "string_end", "integer", "float", "type_conversion":
				tables.actions[symbol] = C.actLeaf
			}
		} else {
			tables.kinds[symbol] = kindToken
			if known, ok := tokenKinds[name]; ok {
				tables.kinds[symbol] = known
			}
		}
	}
	for id := 1; id <= int(C.fieldCount()); id++ {
		if C.GoString(C.fieldName(C.uint16_t(id))) != fieldNames[id] {
			panic("pyscan: the Python grammar's fields have changed: update fieldNames")
		}
	}
	return tables
}
