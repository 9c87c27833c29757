import RequestPath
import Testing
import Vocabulary

@Suite("Date")
struct HTTPDateTests {
    /// The first is the example of RFC 9110 5.6.7.
    @Test(
        "Dates are written as IMF-fixdate",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (1_795_242_406, "Sat, 21 Nov 2026 06:26:46 GMT"),
        ]
    )
    func text(seconds: Int64, text: String) {
        #expect(HTTPDate.text(UnixTime(seconds: seconds)) == text)
    }
}
