package pyscan

// kind is a kind of syntax node: the grammar's named nodes and the few tokens the model asks for.
type kind uint8

const (
	kindUnknown kind = iota
	kindError
	kindToken // any token without a kind of its own
	kindAsync
	kindComma
	kindColon
	kindFrom
	kindStar
	kindNotIn
	kindIsNot
	kindUnderscore
	kindIdentifier
	kindModule
	kindBlock
	kindImport
	kindImportFrom
	kindImportFuture
	kindImportPrefix
	kindRelativeImport
	kindAliasedImport
	kindWildcardImport
	kindPrint
	kindChevron
	kindExec
	kindAssert
	kindExpressionStatement
	kindNamedExpression
	kindReturn
	kindDelete
	kindRaise
	kindPass
	kindBreak
	kindContinue
	kindIf
	kindElif
	kindElse
	kindMatch
	kindCase
	kindFor
	kindWhile
	kindTry
	kindExcept
	kindExceptGroup
	kindFinally
	kindWith
	kindWithClause
	kindWithItem
	kindFunctionDefinition
	kindParameters
	kindLambdaParameters
	kindListSplat
	kindDictionarySplat
	kindGlobal
	kindNonlocal
	kindTypeAlias
	kindClassDefinition
	kindTypeParameter
	kindParenthesizedListSplat
	kindArgumentList
	kindDecoratedDefinition
	kindDecorator
	kindExpressionList
	kindDottedName
	kindCasePattern
	kindUnionPattern
	kindListPattern
	kindTuplePattern
	kindDictPattern
	kindKeywordPattern
	kindSplatPattern
	kindClassPattern
	kindComplexPattern
	kindDefaultParameter
	kindTypedDefaultParameter
	kindTypedParameter
	kindListSplatPattern
	kindDictionarySplatPattern
	kindKeywordSeparator
	kindPositionalSeparator
	kindAsPattern
	kindAsPatternTarget
	kindNot
	kindBoolean
	kindBinary
	kindUnary
	kindComparison
	kindLambda
	kindAssignment
	kindAugmentedAssignment
	kindPatternList
	kindYield
	kindAttribute
	kindSubscript
	kindSlice
	kindCall
	kindType
	kindSplatType
	kindGenericType
	kindUnionType
	kindConstrainedType
	kindMemberType
	kindKeywordArgument
	kindList
	kindSet
	kindTuple
	kindDictionary
	kindPair
	kindListComprehension
	kindDictionaryComprehension
	kindSetComprehension
	kindGenerator
	kindParenthesized
	kindForIn
	kindIfClause
	kindConditional
	kindConcatenatedString
	kindString
	kindStringStart
	kindStringContent
	kindStringEnd
	kindInterpolation
	kindFormatSpecifier
	kindFormatExpression
	kindTypeConversion
	kindAwait
	kindEllipsis
	kindInteger
	kindFloat
	kindTrue
	kindFalse
	kindNone
)

var tokenKinds = map[string]kind{
	"async": kindAsync, ",": kindComma, ":": kindColon, "from": kindFrom, "*": kindStar,
	"not in": kindNotIn, "is not": kindIsNot, "_": kindUnderscore,
}

var namedKinds = map[string]kind{
	"identifier": kindIdentifier, "module": kindModule, "block": kindBlock,
	"import_statement": kindImport, "import_from_statement": kindImportFrom,
	"future_import_statement": kindImportFuture, "import_prefix": kindImportPrefix,
	"relative_import": kindRelativeImport, "aliased_import": kindAliasedImport,
	"wildcard_import": kindWildcardImport, "print_statement": kindPrint, "chevron": kindChevron,
	"exec_statement": kindExec, "assert_statement": kindAssert,
	"expression_statement": kindExpressionStatement, "named_expression": kindNamedExpression,
	"return_statement": kindReturn, "delete_statement": kindDelete, "raise_statement": kindRaise,
	"pass_statement": kindPass, "break_statement": kindBreak, "continue_statement": kindContinue,
	"if_statement": kindIf, "elif_clause": kindElif, "else_clause": kindElse,
	"match_statement": kindMatch, "case_clause": kindCase, "for_statement": kindFor,
	"while_statement": kindWhile, "try_statement": kindTry, "except_clause": kindExcept,
	"except_group_clause": kindExceptGroup, "finally_clause": kindFinally,
	"with_statement": kindWith, "with_clause": kindWithClause, "with_item": kindWithItem,
	"function_definition": kindFunctionDefinition, "parameters": kindParameters,
	"lambda_parameters": kindLambdaParameters, "list_splat": kindListSplat,
	"dictionary_splat": kindDictionarySplat, "global_statement": kindGlobal,
	"nonlocal_statement": kindNonlocal, "type_alias_statement": kindTypeAlias,
	"class_definition": kindClassDefinition, "type_parameter": kindTypeParameter,
	"parenthesized_list_splat": kindParenthesizedListSplat, "argument_list": kindArgumentList,
	"decorated_definition": kindDecoratedDefinition, "decorator": kindDecorator,
	"expression_list": kindExpressionList, "dotted_name": kindDottedName,
	"case_pattern": kindCasePattern, "union_pattern": kindUnionPattern,
	"list_pattern": kindListPattern, "tuple_pattern": kindTuplePattern,
	"dict_pattern": kindDictPattern, "keyword_pattern": kindKeywordPattern,
	"splat_pattern": kindSplatPattern, "class_pattern": kindClassPattern,
	"complex_pattern": kindComplexPattern, "default_parameter": kindDefaultParameter,
	"typed_default_parameter": kindTypedDefaultParameter, "typed_parameter": kindTypedParameter,
	"list_splat_pattern": kindListSplatPattern, "dictionary_splat_pattern": kindDictionarySplatPattern,
	"keyword_separator": kindKeywordSeparator, "positional_separator": kindPositionalSeparator,
	"as_pattern": kindAsPattern, "as_pattern_target": kindAsPatternTarget,
	"not_operator": kindNot, "boolean_operator": kindBoolean, "binary_operator": kindBinary,
	"unary_operator": kindUnary, "comparison_operator": kindComparison, "lambda": kindLambda,
	"assignment": kindAssignment, "augmented_assignment": kindAugmentedAssignment,
	"pattern_list": kindPatternList, "yield": kindYield, "attribute": kindAttribute,
	"subscript": kindSubscript, "slice": kindSlice, "call": kindCall, "type": kindType,
	"splat_type": kindSplatType, "generic_type": kindGenericType, "union_type": kindUnionType,
	"constrained_type": kindConstrainedType, "member_type": kindMemberType,
	"keyword_argument": kindKeywordArgument, "list": kindList, "set": kindSet, "tuple": kindTuple,
	"dictionary": kindDictionary, "pair": kindPair, "list_comprehension": kindListComprehension,
	"dictionary_comprehension": kindDictionaryComprehension, "set_comprehension": kindSetComprehension,
	"generator_expression": kindGenerator, "parenthesized_expression": kindParenthesized,
	"for_in_clause": kindForIn, "if_clause": kindIfClause, "conditional_expression": kindConditional,
	"concatenated_string": kindConcatenatedString, "string": kindString,
	"string_start": kindStringStart, "string_content": kindStringContent, "string_end": kindStringEnd,
	"interpolation": kindInterpolation, "format_specifier": kindFormatSpecifier,
	"format_expression": kindFormatExpression, "type_conversion": kindTypeConversion,
	"await": kindAwait, "ellipsis": kindEllipsis, "integer": kindInteger, "float": kindFloat,
	"true": kindTrue, "false": kindFalse, "none": kindNone,
	"not in": kindNotIn, "is not": kindIsNot,
}

// field is the role of a node in its parent, numbered as in the grammar; 0 is none.
type field uint8

const (
	fieldNone field = iota
	fieldAlias
	fieldAlternative
	fieldArgument
	fieldArguments
	fieldAttribute
	fieldBody
	fieldCause
	fieldCode
	fieldCondition
	fieldConsequence
	fieldDefinition
	fieldExpression
	fieldFormatSpecifier
	fieldFunction
	fieldGuard
	fieldKey
	fieldLeft
	fieldModuleName
	fieldName
	fieldObject
	fieldOperator
	fieldOperators
	fieldParameters
	fieldReturnType
	fieldRight
	fieldSubject
	fieldSubscript
	fieldSuperclasses
	fieldType
	fieldTypeConversion
	fieldTypeParameters
	fieldValue
	fieldCount
)

// fieldNames are the grammar's names of the fields; loadGrammar checks the numbering against it.
var fieldNames = [fieldCount]string{
	fieldAlias: "alias", fieldAlternative: "alternative", fieldArgument: "argument",
	fieldArguments: "arguments", fieldAttribute: "attribute", fieldBody: "body", fieldCause: "cause",
	fieldCode: "code", fieldCondition: "condition", fieldConsequence: "consequence",
	fieldDefinition: "definition", fieldExpression: "expression",
	fieldFormatSpecifier: "format_specifier", fieldFunction: "function", fieldGuard: "guard",
	fieldKey: "key", fieldLeft: "left", fieldModuleName: "module_name", fieldName: "name",
	fieldObject: "object", fieldOperator: "operator", fieldOperators: "operators",
	fieldParameters: "parameters", fieldReturnType: "return_type", fieldRight: "right",
	fieldSubject: "subject", fieldSubscript: "subscript", fieldSuperclasses: "superclasses",
	fieldType: "type", fieldTypeConversion: "type_conversion",
	fieldTypeParameters: "type_parameters", fieldValue: "value",
}
