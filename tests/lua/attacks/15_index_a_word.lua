-- expect: has no fields
return any.x
