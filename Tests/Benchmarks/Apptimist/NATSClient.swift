/// A client of NATS that publishes to a stream of JetStream, or receives what a consumer delivers.
final class NATSClient: Client {
  private let subject: String
  private var input: [UInt8] = []
  private var requests: [(subject: String, body: String)]

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - port: the server's TCP port on this machine.
  ///   - subject: the subject that it publishes to.
  ///   - deliverySubject: the subject that it receives, or nil if it only publishes.
  ///   - requests: requests to JetStream's interface, made one after the other before it is ready.
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

  /// Returns the request that makes a stream in files.
  static func stream(_ name: String, subjects: String) -> (subject: String, body: String) {
    (
      "$JS.API.STREAM.CREATE.\(name)",
      """
      {"name":"\(name)","subjects":["\(subjects)"],"storage":"file","retention":"limits",\
      "num_replicas":1}
      """
    )
  }

  /// Returns the request that makes a consumer.
  ///
  /// Deliveries need no acknowledgement, which costs the server least.
  ///
  /// - Parameters:
  ///   - name: the name of a durable consumer, whose state is kept in files and synced like the stream,
  ///     or nil for an ephemeral one, whose state is kept in memory.
  ///   - stream: the stream that it reads.
  ///   - subject: the subject that it reads.
  ///   - delivery: the subject that it delivers to.
  static func consumer(
    _ name: String?, of stream: String, subject: String, deliverTo delivery: String
  ) -> (subject: String, body: String) {
    let path = name.map { "DURABLE.CREATE.\(stream).\($0)" } ?? "CREATE.\(stream)"
    let kind = name.map { #""durable_name":"\#($0)""# } ?? #""mem_storage":true"#
    return (
      "$JS.API.CONSUMER.\(path)",
      """
      {"stream_name":"\(stream)","config":{\(kind),"deliver_subject":"\(delivery)",\
      "ack_policy":"none","deliver_policy":"new","filter_subject":"\(subject)"}}
      """
    )
  }
}
