/// A client of NATS that sends to a stream of JetStream, or gets what a durable consumer delivers.
final class NATSClient: Client {
  private let subject: String
  private var input: [UInt8] = []
  private var requests: [(subject: String, body: String)]

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - subject: what it sends to.
  ///   - deliverySubject: what it gets; nil: nothing.
  ///   - requests: to the server's interface, done one after the other before it is ready.
  init(
    port: UInt16, subject: String, deliverySubject: String? = nil,
    requests: [(subject: String, body: String)] = []
  ) throws(LoadError) {
    self.subject = subject
    self.requests = requests
    try super.init(port: port)
    append("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB answers.\(descriptor) 2\r\n")
    if let deliverySubject { append("SUB \(deliverySubject) 1\r\n") }
    append("PING\r\n")
  }

  private func append(_ text: String) {
    outgoing += Array(text.utf8)
    wasAppended()
  }

  override func send(_ data: [UInt8]) {
    append("PUB \(subject) \(data.count)\r\n")
    outgoing += data
    outgoing += [13, 10]
  }

  override func received(_ bytes: ArraySlice<UInt8>) throws(LoadError) {
    input += bytes
    var offset = 0
    while let end = input[offset...].firstIndex(of: 13), end + 1 < input.count {
      let line = input[offset..<end]
      guard line.starts(with: [0x4d, 0x53, 0x47, 0x20]) else {
        offset = end + 2
        try take(line: String(decoding: line, as: UTF8.self))
        continue
      }
      let words = line.split(separator: 0x20)
      let count = (words.last ?? []).reduce(0) { $0 * 10 + Int($1) - 48 }
      guard end + 2 + count + 2 <= input.count else { break }
      offset = end + 2 + count + 2
      let data = input[end + 2..<end + 2 + count]
      if words[2].elementsEqual([0x31]) {
        arrived(data)
      } else {
        try answered(String(decoding: data, as: UTF8.self))
      }
    }
    input.removeFirst(offset)
  }

  private func take(line: String) throws(LoadError) {
    if line == "PING" { append("PONG\r\n") }
    if line == "PONG" { nextRequest() }
    if line.hasPrefix("-ERR") { throw LoadError(line) }
  }

  private func answered(_ answer: String) throws(LoadError) {
    guard !answer.contains("\"error\"") else { throw LoadError(answer) }
    nextRequest()
  }

  private func nextRequest() {
    guard !requests.isEmpty else {
      isReady = true
      return
    }
    let request = requests.removeFirst()
    append(
      "PUB \(request.subject) answers.\(descriptor) \(request.body.utf8.count)\r\n\(request.body)\r\n"
    )
  }

  /// Makes a stream in files.
  static func stream(_ name: String, subjects: String) -> (subject: String, body: String) {
    (
      "$JS.API.STREAM.CREATE.\(name)",
      """
      {"name":"\(name)","subjects":["\(subjects)"],"storage":"file","retention":"limits",\
      "num_replicas":1}
      """
    )
  }

  /// Makes a durable consumer, whose deliveries need no acknowledgement: what costs the server least.
  static func consumer(
    _ name: String, of stream: String, subject: String, deliverTo delivery: String
  ) -> (subject: String, body: String) {
    (
      "$JS.API.CONSUMER.DURABLE.CREATE.\(stream).\(name)",
      """
      {"stream_name":"\(stream)","config":{"durable_name":"\(name)","deliver_subject":"\(delivery)",\
      "ack_policy":"none","deliver_policy":"new","filter_subject":"\(subject)"}}
      """
    )
  }
}
