import Foundation
import Testing

@testable import NativeApp

@Suite struct WebAppTests {
    private let app = WebApp(origin: "https://app.example.com")

    @Test func cookiesAreOfTheHostAloneAndOutOfReachOfScripts() {
        let cookies = self.app.cookies("spt_T")
        #expect(cookies.map(\.name) == ["session_transfer_token", "__Host-sallyport-native"])
        #expect(cookies.map(\.value) == ["spt_T", "1"])
        #expect(cookies.allSatisfy { $0.isHTTPOnly && $0.isSecure && $0.path == "/" && $0.domain == "app.example.com" })
    }

    @Test func onlyThisSitesChallengesCount() throws {
        func message(_ change: [String: String] = [:]) throws -> String {
            let message = ["type": "session_transfer", "realm": self.app.origin, "return_to": "/a?b=1"]
            return String(decoding: try JSONEncoder().encode(message.merging(change) { $1 }), as: UTF8.self)
        }
        #expect(self.app.challenged(try message()) == "/a?b=1")
        for change in [
            ["type": "other"], ["realm": "https://evil.example"], ["return_to": "//evil.example"],
            ["return_to": "https://evil.example"], ["return_to": ""],
        ] { #expect(self.app.challenged(try message(change)) == nil, "\(change)") }
        #expect(self.app.challenged("no JSON") == nil)
    }

    @Test func aTokenInTheQueryLeavesTheRestAsItIs() {
        #expect(
            self.app.page("/a?b=%20&c=1+2#d", "spt_T+")?.absoluteString
                == "https://app.example.com/a?b=%20&c=1+2&session_transfer_token=spt_T%2B#d"
        )
        #expect(self.app.page("/", "T")?.absoluteString == "https://app.example.com/?session_transfer_token=T")
        #expect(self.app.page("evil.example/", "T") == nil)
    }

    @Test func anotherSiteIsNoPageOfTheApp() throws {
        for (url, isOurs) in [
            ("https://app.example.com/a", true), ("https://app.example.com", true),
            ("https://app.example.com.evil.example/", false), ("https://app.example.com@evil.example/", false),
            ("http://app.example.com/", false), ("https://app.example.com:8443/", false),
        ] { #expect(self.app.contains(try #require(URL(string: url))) == isOurs, "\(url)") }
    }

    @Test func triesAreBounded() {
        var tries = Tries()
        let start = Date()
        #expect(
            [0, 1, 2, 3, 70].map { tries.next(now: start.addingTimeInterval($0)) } == [true, true, true, false, true]
        )
    }
}
