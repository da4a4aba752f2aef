--- What the rules about merged batch axes, [B,H,M,N] -> [B*H,M,N], have in
--- common.
local merge = {}

--- The merged axis is B*H because element counts agree; that says nothing where
--- there are no elements.
function merge.need_elements(x)
  for i = 1, x:rank() do
    need(x.shape[i] ~= 0, "there are no elements to count", x)
  end
end

return merge
