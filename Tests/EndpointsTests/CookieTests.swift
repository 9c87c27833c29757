import Endpoints
import Testing
import Vocabulary

@Suite("Cookies")
struct CookieTests {
    /// CVE-2025-55162.
    @Test("Setting and clearing have the same name and attributes")
    func attributes() {
        let cookie = SessionCookie(name: "__Host-sallyport", reach: .site)
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
        let cookie = SessionCookie(name: "__Host-s-attempt", reach: .site, maxAge: 60)
        #expect(cookie.setting(Secret("x")) == "__Host-s-attempt=x; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(!cookie.clearing().contains("Max-Age=60") && cookie.clearing().contains("Max-Age=0"))
        let plain = SessionCookie(name: "__Host-s-attempt", reach: .plain, maxAge: 60)
        #expect(plain.setting(Secret("x")) == "s-attempt=x; Max-Age=60; Path=/; HttpOnly; SameSite=Lax")
        for cookie in [cookie, plain] {
            let line = String(decoding: cookie.line(setting: Secret("x"), maxAge: 7), as: UTF8.self)
            #expect(line == "Set-Cookie: \(cookie.setting(Secret("x"), maxAge: 7))\r\n")
        }
    }

    @Test("For frames of other sites the cookie is SameSite=None and Partitioned; both kinds can be cleared at once")
    func partitioned() {
        let cookie = SessionCookie(name: "__Host-s", reach: .partitioned)
        let attributes = "; Path=/; Secure; HttpOnly; SameSite=None; Partitioned"
        #expect(cookie.setting(Secret("x"), maxAge: 7) == "__Host-s=x; Max-Age=7\(attributes)")
        #expect(cookie.clearing().hasPrefix("__Host-s=\(attributes); Max-Age=0"))
        for reach in [CookieScope.site, .partitioned] {
            let all = SessionCookie(name: "__Host-s", reach: reach).clearingAll()
            #expect(all.count == 2 && all.contains(cookie.clearing()))
            #expect(all.contains(SessionCookie(name: "__Host-s", reach: .site).clearing()))
        }
        #expect(SessionCookie(name: "s", reach: .plain).clearingAll().count == 1)
    }

    @Test("Without Secure the cookie has no name prefix, since browsers would refuse it")
    func insecure() {
        let cookie = SessionCookie(name: "__Host-sallyport", reach: .plain)
        #expect(cookie.name == "sallyport")
        #expect(cookie.setting(Secret("x")) == "sallyport=x; Path=/; HttpOnly; SameSite=Lax")
        #expect(SessionCookie(name: "__Secure-s", reach: .plain).name == "s")
        #expect(SessionCookie(name: "plain", reach: .site).name == "plain")
        #expect(SessionCookie(name: "__Host-", reach: .plain).name == "__Host-")
    }
}
