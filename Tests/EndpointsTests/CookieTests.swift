import Endpoints
import Testing
import Vocabulary

@Suite("Cookies")
struct CookieTests {
    private func values(_ cookies: String...) -> [String] {
        CookieField.values(of: "__Host-sallyport", in: cookies.map { ("cookie", $0) })
    }

    @Test("A value is read byte for byte, among others, with and without spaces")
    func reading() {
        #expect(self.values("__Host-sallyport=sps_abc") == ["sps_abc"])
        #expect(self.values("a=1; __Host-sallyport=x; b=2") == ["x"])
        #expect(self.values("a=1;__Host-sallyport=x;b=2") == ["x"])
        #expect(self.values("a=1", "__Host-sallyport=x=y=z ;") == ["x=y=z"])
        #expect(self.values("__Host-sallyport=\"x\"") == ["\"x\""])
        #expect(self.values("__Host-sallyport=a%20b") == ["a%20b"])
        #expect(self.values("__Host-sallyport=") == [""])
    }

    @Test("Repeated cookies are all seen, in one field or several")
    func repeated() {
        #expect(self.values("__Host-sallyport=x; __Host-sallyport=y", "__Host-sallyport=x") == ["x", "y", "x"])
    }

    /// CVE-2024-24814, CVE-2023-28625.
    @Test("Crafted cookies are ignored")
    func crafted() {
        #expect(self.values("x=;=;;x_chunks=99999999", ";;;=", "=__Host-sallyport", "").isEmpty)
        #expect(self.values("__host-sallyport=x; __Host-sallyport2=x; x__Host-sallyport=x; __Host-sallyport").isEmpty)
        #expect(self.values("a=\"; __Host-sallyport=x\"") == ["x\""])
        let many = (0..<1000).map { "c\($0)=v" }.joined(separator: "; ")
        #expect(self.values(many).isEmpty)
        #expect(CookieField.values(of: "a", in: [("x-cookie", "a=1"), ("cookie2", "a=1")]).isEmpty)
    }

    /// CVE-2025-55162.
    @Test("Setting and clearing have the same name and attributes")
    func attributes() {
        let cookie = SessionCookie(name: "__Host-sallyport", isSecure: true)
        let set = cookie.setting(Secret("sps_abc"))
        #expect(set == "__Host-sallyport=sps_abc; Path=/; Secure; HttpOnly; SameSite=Lax")
        let cleared = cookie.clearing().split(separator: "; ")
        #expect(cleared.first == "__Host-sallyport=")
        #expect(Set(set.split(separator: "; ").dropFirst()).isSubset(of: cleared))
        #expect(cleared.contains("Max-Age=0"))
        #expect(!set.lowercased().contains("domain"))
    }

    @Test("A cookie with an age has it when it is set and none when it is cleared")
    func age() {
        let cookie = SessionCookie(name: "__Host-s-attempt", isSecure: true, maxAge: 60)
        #expect(cookie.setting(Secret("x")) == "__Host-s-attempt=x; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(!cookie.clearing().contains("Max-Age=60") && cookie.clearing().contains("Max-Age=0"))
        let plain = SessionCookie(name: "__Host-s-attempt", isSecure: false, maxAge: 60)
        #expect(plain.setting(Secret("x")) == "s-attempt=x; Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
    }

    @Test("Without Secure the cookie has no prefix that browsers would refuse")
    func insecure() {
        let cookie = SessionCookie(name: "__Host-sallyport", isSecure: false)
        #expect(cookie.name == "sallyport")
        #expect(cookie.setting(Secret("x")) == "sallyport=x; Path=/; HttpOnly; SameSite=Lax")
        #expect(SessionCookie(name: "__Secure-s", isSecure: false).name == "s")
        #expect(SessionCookie(name: "plain", isSecure: true).name == "plain")
    }
}
