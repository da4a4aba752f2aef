-- expect: assigned as a global
need = function(v) return v end
