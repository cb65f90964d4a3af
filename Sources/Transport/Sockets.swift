internal import Glibc

/// Lends a socket's address in the form that a system call takes.
///
/// - Parameters:
///   - address: the address, or the room for one.
///   - form: the form, such as `sockaddr`.
///   - body: the use of it.
/// - Returns: the closure's result.
@inlinable
package func withSocketAddress<Address, Form, Value>(
  _ address: inout Address, as form: Form.Type,
  _ body: (UnsafeMutablePointer<Form>) -> Value
) -> Value {
  unsafe withUnsafeMutablePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: form, capacity: 1, body)
  }
}

/// Takes the error of a socket that no call on it has reported yet: its `errno`, or 0.
func takeSocketError(of socket: Int32) -> Int32 {
  var code: Int32 = 0
  var size = socklen_t(MemoryLayout<Int32>.size)
  unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
  return code
}
