// The variants among an input's options: what copies and destroys them is compiled here, once.
#include "data/options.h"

namespace tpuest {

template class OneOf<data::PlainSourceTypes>;
template class OneOf<data::SourceOptionsTypes>;
template class OneOf<data::MapOptionsTypes>;

}  // namespace tpuest
