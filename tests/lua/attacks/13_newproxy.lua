-- expect: unknown word
local p = newproxy(true)
