-- expect: invalid option
return ("%999d"):format(1)
