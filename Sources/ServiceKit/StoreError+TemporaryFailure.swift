internal import Routing
package import Storage

/// A store that can't be reached may be there again at the next request.
extension StoreError: TemporaryFailure {}
