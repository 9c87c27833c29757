import Endpoints
import Testing

@Suite("URLs that a proxy writes into a query without encoding them")
struct UnencodedURLTests {
    @Test(
        "They are read as the client sent them; what is encoded as it should be is not read here",
        arguments: [
            ("rd=https://a.example/x", "https://a.example/x"), ("rd=https://a.example/a+b", "https://a.example/a+b"),
            ("rd=https://a.example/caf%C3%A9", "https://a.example/caf%C3%A9"),
            ("rd=https://a.example/x?a=b+c&d=%2B", "https://a.example/x?a=b+c&d=%2B"),
            ("p=1&rd=https://a.example/x?a=b&c", "https://a.example/x?a=b&c"),
            ("rd=https://a.example/x&p=1", "https://a.example/x"),
            ("rd=https://a.example?q=%3F&r", "https://a.example?q=%3F&r"),
            ("rd=https%3A%2F%2Fa.example%2Fx", nil), ("rd=https://a.example%2Fx%3Fa%3Db", nil),
            ("rd=https://a.example/x%3Fa%3Db", nil), ("rd=/x", nil), ("rd=https://a.example", nil), ("", nil),
            ("rd=", nil),
            ("rd=https://a.example/x&rd=https://a.example/y", nil), ("xrd=https://a.example/x", nil),
        ] as [(String, String?)]
    )
    func value(query: String, expected: String?) {
        #expect(UnencodedURL.value(of: "rd", in: query) == expected)
    }
}
