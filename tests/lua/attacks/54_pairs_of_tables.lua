-- expect: key without an order
for k in pairs({[{}] = 1, [{}] = 2}) do end
