internal import Foundation
internal import TestSupport
internal import Testing

/// What an attacker writes wherever others read it.
extension WebAppBrowserTests {
  private static let name = "<img src=x onerror=document.title='broken'>"
  private static let title = "<svg onload=document.title='broken'>"

  /// Counts what would have become markup, and links that are no web addresses.
  private func broken(_ person: WebAppPerson) throws -> [String] {
    try [
      // What is unread stands before it.
      person.browser.evaluate("document.title.replace(/^\\(\\d+\\) /, '')"),
      person.browser.evaluate(
        "document.querySelectorAll('[onerror], [onload], [src=x], svg[onload], script:not([src])').length"
      ),
      person.browser.evaluate(
        "[...document.querySelectorAll('a[href]')].filter((a) => !/^(https?|blob):/.test(a.href)).length"
      ),
    ]
  }

  @Test func anAttackersNamesStayText() throws {
    let site = try Self.site()
    let anna = try WebAppPerson("anna", at: site)
    let evil = try WebAppPerson(Self.name, at: site)
    let whole = ["Apptimist", "0", "0"]
    // The list of requests, and the chat.
    let forum = try evil.makeForum(Self.title, isModerated: false)
    try evil.press("Details")
    try evil.wait("document.querySelector('#forum').open")
    try evil.invite(anna)
    try evil.press("Close")
    try anna.wait("document.querySelector('#requests-list li')?.textContent.includes('<img src=x')")
    #expect(try broken(anna) == whole)
    try anna.open(evil, in: "Requests")
    try anna.wait("document.querySelector('#messages').textContent.includes('<svg onload')")
    #expect(try broken(anna) == whole)
    // The person's details: the name, the safety number and its code.
    try anna.press("Details")
    try anna.wait("document.querySelector('#details').open")
    try anna.wait("document.querySelector('[data-safety-number]').textContent !== ''")
    #expect(try broken(anna) == whole)
    try anna.press("Close")
    try anna.press("Allow")
    // The forum: its title in list and chat, and its members.
    try anna.press("Join")
    try anna.wait("document.documentElement.dataset.chat === '\(forum)'")
    #expect(
      try anna.browser.evaluate("document.querySelector('#with').textContent.includes('<svg')")
        == "true")
    try anna.press("Details")
    try anna.wait("document.querySelector('#forum').open")
    let members = "document.querySelector('#forum ul[aria-label=Moderators], #moderators')"
    try anna.wait("\(members).parentElement.textContent.includes('<img src=x')")
    #expect(try broken(anna) == whole)
    try anna.press("Close")
    // Pictures that are none, and links that want to run.
    try evil.find("anna")
    for (type, file) in [
      ("image/svg+xml", "x.svg"), ("image/png", "\"><img src=x onerror=document.title=1>.png"),
      ("text/html", "x.html"),
    ] {
      try evil.run(
        """
        const transfer = new DataTransfer();
        transfer.items.add(new File(
          ['<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"><script>document.title=1</script></svg>'],
          \(file.inJavaScript), { type: '\(type)' }));
        const field = document.querySelector('#file');
        field.files = transfer.files;
        field.dispatchEvent(new Event('change'));
        """)
    }
    try evil.say("data:text/html,<script>1</script> JaVaScRiPt:1 https://a.example/\"onclick=1 //x")
    try anna.open(evil, in: "Chats")
    try anna.wait("document.querySelectorAll('#messages a').length === 1")
    #expect(try broken(anna) == whole)
    #expect(
      try anna.browser.evaluate(
        "[...document.querySelectorAll('#messages a')].every((a) => a.rel === 'noopener noreferrer' && !a.onclick)"
      ) == "true")
    // Addresses that others make people open.
    for hash in [
      "chat=javascript:1", "chat=\(Self.name)", "verify=\(Self.name).1", "verify=",
      "link=\(Self.name)",
    ] {
      try anna.run("location.hash = \(hash.inJavaScript)")
      try anna.wait("document.documentElement.dataset.view === 'home'")
      #expect(try broken(anna) == whole, "\(hash)")
    }
    // Among the blocked.
    try anna.browser.open("\(site.address)/siren/app/?again")
    try anna.wait("document.documentElement.dataset.connection === 'open'")
    try anna.open(evil, in: "Chats")
    try anna.press("Details")
    try anna.press("Block")
    try anna.agree()
    try anna.press("Settings")
    try anna.wait("document.querySelector('#blocked li') !== null")
    try anna.wait("document.querySelector('#blocked').textContent.includes('<img src=x')")
    #expect(try broken(anna) == whole)
  }
}
