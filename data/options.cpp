// The variants among an input's options: what copies and destroys them is compiled here, once.
#include "data/options.h"

namespace tpuest {

template class OneOf<PlainSourceTypes>;
template class OneOf<SourceOptionsTypes>;
template class OneOf<MapOptionsTypes>;

}  // namespace tpuest
