import Testing
import Vocabulary

@Suite("Date")
struct HTTPDateTests {
    /// The first is the example of RFC 9110 5.6.7.
    @Test(
        "Dates are written and read as IMF-fixdate",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (1_795_242_406, "Sat, 21 Nov 2026 06:26:46 GMT"),
        ]
    )
    func text(seconds: Int64, text: String) {
        #expect(HTTPDate.text(UnixTime(seconds: seconds)) == text)
        #expect(HTTPDate.time(text) == UnixTime(seconds: seconds))
    }

    @Test(
        "Other forms, and days that do not exist, are no dates",
        arguments: [
            "", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Fri, 30 Feb 2024 00:00:00 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 06 Nov 99999999999 08:49:37 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT",
        ]
    )
    func refused(text: String) {
        #expect(HTTPDate.time(text) == nil)
    }
}
