@dec.x(1)
# c
async def f[T: int, *Ts](a, b: int = 3, /, *args, c=1, d: str, **kw) -> int:
    """doc"""
    x: int = 5
    y: str
    a = b = c, *d = 1, 2
    x += 1
    return await g(a, *b, k=3, **kw)
class A(B, metaclass=M): pass
class C: x = 1; y = 2
for x, y in z: pass
else: pass
async for i in a: continue
while x: break
else:
    pass
with a as b, c(d) as (e, f): pass
with (a as b, c): pass
with (yield): pass
try:
    pass
except (A, B) as e:
    pass
except Exception: pass
else: pass
finally: pass
match x:
    case A.B(c, d=e) | [1, *rest] | {"k": v, **kw} if g: pass
    case -1 | 1+2j | "s" "t" | None | _ as z: pass
    case (a, b): pass
    case a, b: pass
    case foo.bar: pass
if a: pass
elif b: pass
else: pass
raise A from b
assert a, b
del a, b[0]
import a.b as c, d
from ..x.y import (z as w, v)
from . import *
from __future__ import annotations
global a, b
nonlocal q
type X[T] = int
lambda a, *b, c=1, **d: a
[x for x in y if z if w for q in r]
{a: b for a, b in c}
{**a, 'b': c}
{1, *x}
g(x for x in y)
x[1:2, ::3, ..., None, -1:]
x[1:2]
a < b <= c not in d is not e
not a and b or c
a if b else c
(x := 3)
f"a{x!r:>{w}}b{y=}" "c"
"a" 'b'
-1
1j; 1.5; 0x1; b"x"
x = yield y
yield from z
(a)
()
(a,)
a, b
*a, b
x @ y
f(**a, b)
