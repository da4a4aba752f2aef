--- Helpers of the rules for merged and shared batch axes, [B,H,M,N] ->
--- [B*H,M,N].
local merge = {}

--- The merged axis is B*H because the element counts agree, which proves nothing
--- for a tensor without elements: here one with a size that is known to be 0.
function merge.need_elements(x)
  for i = 1, x:rank() do
    need(x.shape[i] ~= 0, "the tensor has no elements", x)
  end
end

--- Builds x, [B,H,M,N], as [B*H,M,N].
function merge.merged(op, x, batch) return op.Reshape(x, {batch, x:dim(2), x:dim(3)}) end

--- Builds y, [B*H,M,N], as [B,H,M,N].
function merge.split(op, y, B, H)
  local M, N = y:dim(1), y:dim(2)
  -- Unsqueeze puts M and N at axes 2 and 3, where Reshape can copy them.
  if type(B) ~= "number" and (type(M) ~= "number" or type(N) ~= "number") then y = op.Unsqueeze(y, {1}) end
  return op.Reshape(y, {B, H, M, N})
end

--- The sizes to which a and b broadcast, with 1 for the last two axes.
function merge.common(a, b)
  local wide, rank = {}, a:rank()
  for i = 1, rank - 2 do
    local one, two = a.shape[i], b.shape[i]
    need(one == two or one == 1 or two == 1, "the batches differ", b)
    wide[i] = one == 1 and two or one
  end
  wide[rank - 1], wide[rank] = 1, 1
  return wide
end

--- Expands x to these sizes if it does not have them; the last two do not
--- count.
function merge.widened(op, x, wide)
  for i = 1, #wide - 2 do
    if x.shape[i] ~= wide[i] then return op.Expand(x, wide) end
  end
  return x
end

return merge
