--- Numbers in a type to compute in: functions that build.
local number = {}

--- v as float, or as the double that it is; nil where it is nil.
function number.wide(op, v)
  if not v or v.dtype == "float" or v.dtype == "double" then return v end
  return op.Cast{v, to = "float"}
end

--- v in the type of another value.
function number.narrow(op, v, like)
  if v.dtype == like.dtype then return v end
  return op.Cast{v, to = need(like.dtype, "the type is unknown", like)}
end

--- v as float.
function number.float(op, v) return v.dtype == "float" and v or op.Cast{v, to = "float"} end

--- The scale, in float, that spreads numbers from 0 to `top` over so many steps; 1 where no float is that small.
function number.step(op, top, steps)
  local step = number.float(op, op.Div(top, steps))
  return op.Where(op.Equal(step, 0), 1, step)
end

--- op.ReduceMax and its like of x along axes, which stay as 1; of all of x where there are none.
function number.reduced(op, reduce, x, axes)
  if #axes == 0 then return op[reduce]{x, keepdims = 0} end
  return op[reduce]{x, axes, keepdims = 1}
end

--- v, [rows or groups of them, columns], repeated for each row of its group; anything else as it is.
function number.by_row(op, v, rows)
  if v:rank() ~= 2 or v:dim(0) == 1 then return v end
  local groups, columns = v:dim(0), v:dim(1)
  need(type(groups) == "number" and type(rows) == "number" and rows % groups == 0, "the groups are not known", v)
  if groups == rows then return v end
  return op.Reshape(op.Expand(op.Unsqueeze(v, {1}), {groups, rows / groups, columns}), {rows, columns})
end

--- Ends the match where v, the scale or the offset of a weight [rows,columns], is not one for all, for each column, or for
--- each of a group of rows.
function number.need_weight_scale(v, columns)
  local rank = need(v:rank(), "the rank of the scale is unknown", v)
  need(rank <= 2 and (rank == 0 or v:dim(-1) == columns or v:dim(-1) == 1 and rank == 1), "the scale is of another weight", v)
end

local FLOATS = { [1] = true, [10] = true, [11] = true, [16] = true }

function number.need_float(dtype, culprit) need(FLOATS[dtype], "out_dtype is no type of floats", culprit) end

--- x w + b in float, as another type, by ONNX's number for it.
function number.product(op, x, w, b, dtype)
  local y = op.MatMul(x, w)
  if b then y = op.Add(y, number.wide(op, b)) end
  return dtype == 1 and y or op.Cast{y, to = dtype}
end

-- The integer types that a float counts exactly, and a bit to spare, by ONNX's numbers for them.
local RANGES = { [2] = {0, 255}, [3] = {-128, 127}, [4] = {0, 65535}, [5] = {-32768, 32767} }

--- The least and the largest number of a type.
function number.range(dtype, culprit)
  return unpack(need(RANGES[dtype], "out_dtype is no integer type of 8 or 16 bits", culprit))
end

--- y, from `least` to `most`, as an integer type.
function number.clipped(op, y, least, most, dtype)
  return op.Cast{op.Clip(y, least, most), to = dtype}
end

return number
