import Cryptography
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("Links by which a handoff on one host reaches the host on which users sign in")
struct HandoffShareTests {
    private static let now = UnixTime(seconds: 1_800_000_000)
    private static let keys = SealingKeyRing(current: Secret("a secret of the tests"))
    private static let page = HandoffShare.Page(host: "app.example.com", target: "/a//b?x=%2F&y=%20&&")

    private static func hosts(_ endpoints: [String] = ["login.example.com"]) -> SignInHosts {
        SignInHosts(
            ["app.example.com", "login.example.com", "other.example.com"].map { name in
                HostSettings(
                    publicURL: PublicURL(isHTTPS: true, host: name, port: nil),
                    endpoints: endpoints.contains(name),
                    routes: [RouteSettings(path: "/**", upstream: "app", auth: .required)]
                )
            }
        )
    }

    private let share = HandoffShare(hosts: Self.hosts(), keys: Self.keys)

    private func link(_ page: HandoffShare.Page = Self.page) throws -> String {
        let link = try #require(self.share.link(to: page, now: Self.now))
        #expect(link.host.origin == "https://login.example.com")
        #expect(!link.text.contains { $0 == "/" || $0 == "+" || $0 == "=" })
        return link.text
    }

    private func page(
        _ text: String,
        from authority: String = "app.example.com",
        on host: String = "login.example.com",
        after age: Duration = .zero,
        at share: HandoffShare? = nil
    ) -> (page: HandoffShare.Page, isCurrent: Bool)? {
        (share ?? self.share).page(text, from: authority, on: host, now: Self.now.advanced(by: age))
    }

    @Test("It leads back to the same path and query, byte for byte, and is followed for a minute")
    func roundTrip() throws {
        for target in [Self.page.target, "/", "/?", "//evil.example/", "/" + String(repeating: "ü", count: 1000)] {
            let text = try self.link(HandoffShare.Page(host: "app.example.com", target: target))
            for (age, isCurrent) in [(0, true), (60, true), (61, false), (86_400, false)] {
                let found = try #require(self.page(text, after: .seconds(age)))
                #expect(found.page == HandoffShare.Page(host: "app.example.com", target: target))
                #expect(found.isCurrent == isCurrent, "\(age)")
            }
        }
        #expect(try self.link() != self.link(), "it shows nothing of the page")
    }

    @Test("There is none where users sign in on the host itself, nowhere, or the page is too long")
    func none() {
        for host in ["login.example.com", "evil.example"] {
            #expect(self.share.link(to: HandoffShare.Page(host: host, target: "/"), now: Self.now) == nil)
        }
        let alone = HandoffShare(hosts: Self.hosts([]), keys: Self.keys)
        #expect(alone.link(to: Self.page, now: Self.now) == nil)
        for (length, isLinked) in [(2800, true), (2801, false)] {
            let page = HandoffShare.Page(host: "app.example.com", target: String(repeating: "/", count: length))
            #expect((self.share.link(to: page, now: Self.now) != nil) == isLinked)
        }
    }

    @Test("It counts only from the host that made it, on the host for which it was made, and unaltered")
    func forged() throws {
        let text = try self.link()
        for (authority, host) in [
            ("other.example.com", "login.example.com"), ("app.example.com", "other.example.com"),
            ("login.example.com", "app.example.com"), ("evil.example", "login.example.com"),
            ("app.example.com", "app.example.com"),
        ] {
            #expect(self.page(text, from: authority, on: host) == nil)
        }
        for index in text.indices {
            var altered = text
            altered.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(self.page(altered)?.page.target ?? Self.page.target == Self.page.target)
        }
        for altered in ["", "A", String(text.dropLast()), text + "A", text + "AAAA", "https://evil.example/"] {
            #expect(self.page(altered) == nil)
        }
    }

    @Test("It is accepted under a former secret, and not under another; nor is what was sealed for something else")
    func secrets() throws {
        let text = try self.link()
        let old = Secret("a secret of the tests")
        let new = Secret("a new secret of the tests")
        let rotated = HandoffShare(hosts: Self.hosts(), keys: SealingKeyRing(current: new, accepted: [new, old]))
        #expect(self.page(text, at: rotated)?.page == Self.page)
        let other = HandoffShare(hosts: Self.hosts(), keys: SealingKeyRing(current: new, accepted: [new]))
        #expect(self.page(text, at: other) == nil)
        var writer = CompactWriter()
        writer.write(byte: 1)
        writer.write("/")
        writer.write(Self.now.milliseconds)
        for (place, version, isOpened) in [
            ("handoff share app.example.com login.example.com", UInt8(1), true),
            ("handoff share app.example.com login.example.com", 2, false),
            ("handoff share app.example.com other.example.com", 1, false),
            ("ticket request login.example.com x", 1, false),
        ] {
            let sealed = Self.keys.seal([version] + writer.bytes.dropFirst(), for: Array(place.utf8))
            #expect((self.page(Base64URL.encode(sealed)) != nil) == isOpened, "\(place) \(version)")
        }
    }
}
