package rules

import (
	"regexp"
	"strings"

	"stepline/pyscan"
)

// IsPrintOfTensor is the GPU tensor whose value a call turns into text, nil if there is none.
func (f *Facts) IsPrintOfTensor(s *Site) pyscan.Expr {
	call := s.Call()
	if !f.makesText(call) {
		return nil
	}
	var found pyscan.Expr
	look := func(e pyscan.Expr) {
		if found == nil {
			found = f.formatted(e)
		}
	}
	for _, a := range call.Args {
		look(a)
	}
	for _, k := range call.Keywords {
		look(k.Value)
	}
	return found
}

var logLevels = wordSet("debug info warning warn error critical log exception")

// makesText: print, logging, tqdm's postfix and description.
func (f *Facts) makesText(call *pyscan.Call) bool {
	switch fn := call.Func.(type) {
	case *pyscan.Name:
		if fn.ID == "print" {
			b, _ := f.index.lookup("print", f.Site(fn).Function)
			return b == nil
		}
	case *pyscan.Attribute:
		switch fn.Attr {
		case "set_postfix", "set_description", "set_postfix_str", "set_description_str":
			return f.Resolve(fn) == ""
		case "write":
			return strings.HasSuffix(f.Resolve(fn), "tqdm.write")
		}
		if !logLevels[fn.Attr] {
			return false
		}
		if path := f.Resolve(fn); path != "" {
			return strings.HasPrefix(path, "logging.")
		}
		// an own logger's debug is usually switched off
		return fn.Attr != "debug" && (loggerNames.MatchString(lastName(fn.Value)) || f.Value(fn.Value).Kind == PythonLogger)
	}
	return false
}

var loggerNames = regexp.MustCompile(`(?i)^_?(log|logger|logging)$`)

// formatted finds the GPU tensor whose text an argument needs: itself, or inside an f-string, `%`, `.format`, `str()`, a display.
func (f *Facts) formatted(e pyscan.Expr) pyscan.Expr {
	if f.OnGPU(e) {
		if bin, ok := e.(*pyscan.BinOp); !ok || bin.Op != "%" || !isText(bin.Left) {
			return e
		}
	}
	look := func(list ...pyscan.Expr) pyscan.Expr {
		for _, sub := range list {
			if found := f.formatted(sub); found != nil {
				return found
			}
		}
		return nil
	}
	switch e := e.(type) {
	case *pyscan.FString:
		return look(e.Values...)
	case *pyscan.BinOp:
		if e.Op == "%" && isText(e.Left) {
			return look(e.Right)
		}
		if e.Op == "+" {
			return look(e.Left, e.Right)
		}
	case *pyscan.Tuple:
		return look(e.Elems...)
	case *pyscan.List:
		return look(e.Elems...)
	case *pyscan.Dict:
		return look(e.Values...)
	case *pyscan.Call:
		if attr, ok := e.Func.(*pyscan.Attribute); ok && attr.Attr == "format" && isText(attr.Value) {
			for _, k := range e.Keywords {
				if found := look(k.Value); found != nil {
					return found
				}
			}
			return look(e.Args...)
		}
		if name, ok := e.Func.(*pyscan.Name); ok && (name.ID == "str" || name.ID == "repr" || name.ID == "dict") {
			for _, k := range e.Keywords {
				if found := look(k.Value); found != nil {
					return found
				}
			}
			return look(e.Args...)
		}
	}
	return nil
}

func isText(e pyscan.Expr) bool {
	switch e := e.(type) {
	case *pyscan.Constant:
		return e.Kind == pyscan.ConstString
	case *pyscan.FString:
		return true
	}
	return false
}

// LogName is the log function a call is (`writer.add_scalar`, `wandb.log`, `self.log`), "" if it is none.
func (f *Facts) LogName(s *Site) string {
	call := s.Call()
	attr, ok := call.Func.(*pyscan.Attribute)
	if !ok {
		return ""
	}
	switch attr.Attr {
	case "add_scalar", "add_scalars":
		return f.Line(attr)
	case "log", "log_dict":
		if path := f.Resolve(attr); path == "wandb.log" {
			return f.Line(attr)
		}
		if fn := s.Def(); fn != nil && isSelfName(attr.Value, selfOf(fn)) && methodClass(fn) != nil && f.analysis.isFrameworkClass(f.index, methodClass(fn)) {
			return f.Line(attr)
		}
		if v := f.Value(attr.Value); v.Kind == Writer || runNames.MatchString(lastName(attr.Value)) && attr.Attr == "log" && len(call.Args) > 0 {
			return f.Line(attr)
		}
	case "log_metric", "log_metrics":
		if strings.HasPrefix(f.Resolve(attr), "mlflow.") || loggerOwner.MatchString(lastName(attr.Value)) {
			return f.Line(attr)
		}
	}
	return ""
}

var (
	runNames    = regexp.MustCompile(`(?i)^(wandb|wandb_run|accelerator|fabric)$`)
	loggerOwner = regexp.MustCompile(`(?i)log|experiment|mlflow|comet|tracker|writer|\brun$`)
)

// LoggedTensor is the tensor or read a log call hands over, with what to do about it; nil if there is none.
func (f *Facts) LoggedTensor(s *Site) (pyscan.Expr, string) {
	if f.LogName(s) == "" {
		return nil, ""
	}
	call := s.Call()
	lightning := isSelfName(call.Func.(*pyscan.Attribute).Value, selfOf(s.Def()))
	advice := "log every N steps"
	if lightning {
		advice = "pass the tensor itself, the framework reads it when it writes"
	}
	var found pyscan.Expr
	var look func(e pyscan.Expr)
	look = func(e pyscan.Expr) {
		if found != nil || e == nil {
			return
		}
		if c, ok := e.(*pyscan.Call); ok {
			if read := f.HostReadOf(c); read != nil && f.OnGPU(read.Tensor) {
				found = e
				return
			}
		}
		if !lightning && f.OnGPU(e) {
			found = e
			return
		}
		switch e := e.(type) {
		case *pyscan.Dict:
			for _, v := range e.Values {
				look(v)
			}
		case *pyscan.BinOp:
			look(e.Left)
			look(e.Right)
		case *pyscan.Call:
			if name, ok := e.Func.(*pyscan.Name); ok && name.ID == "dict" {
				for _, k := range e.Keywords {
					look(k.Value)
				}
			}
			if name, ok := e.Func.(*pyscan.Name); ok && name.ID == "round" && len(e.Args) > 0 {
				look(e.Args[0])
			}
		}
	}
	for _, a := range call.Args {
		look(a)
	}
	for _, k := range call.Keywords {
		look(k.Value)
	}
	return found, advice
}

// LogsTensors reports whether a log call belongs to a framework that takes tensors and reads them itself (Lightning's self.log).
func (f *Facts) LogsTensors(s *Site) bool {
	attr, ok := s.Call().Func.(*pyscan.Attribute)
	return ok && isSelfName(attr.Value, selfOf(s.Def()))
}
