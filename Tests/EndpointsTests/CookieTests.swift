import Endpoints
import Testing
import Vocabulary

@Suite("Cookies")
struct CookieTests {
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

    @Test("A cookie with a Max-Age has it when it is set, and Max-Age=0 when it is cleared")
    func age() {
        let cookie = SessionCookie(name: "__Host-s-attempt", isSecure: true, maxAge: 60)
        #expect(cookie.setting(Secret("x")) == "__Host-s-attempt=x; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(!cookie.clearing().contains("Max-Age=60") && cookie.clearing().contains("Max-Age=0"))
        let plain = SessionCookie(name: "__Host-s-attempt", isSecure: false, maxAge: 60)
        #expect(plain.setting(Secret("x")) == "s-attempt=x; Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
    }

    @Test("Without Secure the cookie has no name prefix, since browsers would refuse it")
    func insecure() {
        let cookie = SessionCookie(name: "__Host-sallyport", isSecure: false)
        #expect(cookie.name == "sallyport")
        #expect(cookie.setting(Secret("x")) == "sallyport=x; Path=/; HttpOnly; SameSite=Lax")
        #expect(SessionCookie(name: "__Secure-s", isSecure: false).name == "s")
        #expect(SessionCookie(name: "plain", isSecure: true).name == "plain")
    }
}
