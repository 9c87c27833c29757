import Foundation
import Testing

/// `deploy/examples`: the app's side of the handoff, checked as far as a machine without the kits of the phones can.
@Suite struct ExampleTests {
    private static let folder = "deploy/examples"
    static let hasNode = (try? PackageFiles.run(["node", "--version"])) != nil

    /// What is only Foundation compiles; UIKit and WebKit are missing here, so that their part is only parsed.
    @Test(arguments: [("-typecheck", "ios/SessionTransfer.swift"), ("-parse", "ios/TransferWebView.swift")])
    func swift(check: String, file: String) throws {
        let arguments = ["swiftc", check, "-swift-version", "6", "-warnings-as-errors", "\(Self.folder)/\(file)"]
        let verdict = try #require(try PackageFiles.run(arguments))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    @Test(.enabled(if: hasNode), arguments: ["sessionTransfer.mjs", "TransferWebView.mjs"])
    func reactNative(file: String) throws {
        let verdict = try #require(try PackageFiles.run(["node", "--check", "\(Self.folder)/react-native/\(file)"]))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    /// The part without React Native runs: what it sends, what it keeps, and what it refuses.
    @Test(.enabled(if: hasNode)) func reactNativeRuns() throws {
        let program = """
            import {challengedTarget, makeTries, mint} from './\(Self.folder)/react-native/sessionTransfer.mjs';
            import assert from 'node:assert';
            const kept = [];
            let sent;
            globalThis.fetch = async (url, options) => {
              sent = {url, ...options, body: JSON.parse(options.body)};
              return {ok: true, json: async () => ({access_token: 'T', refresh_token: 'R2'})};
            };
            const app = {gateway: 'https://auth.example.com', clientID: 'ios',
              refreshToken: async () => 'R1', keep: async token => kept.push(token)};
            assert.equal(await mint(app), 'T');
            assert.deepEqual(kept, ['R2']);
            assert.equal(sent.url, 'https://auth.example.com/oauth/token');
            assert.deepEqual(sent.body, {grant_type: 'refresh_token', client_id: 'ios', refresh_token: 'R1',
              audience: 'urn:auth.example.com:session_transfer'});
            globalThis.fetch = async () => ({ok: false, status: 403});
            await assert.rejects(mint(app));
            const origin = 'https://app.example.com';
            const message = (change = {}) =>
              JSON.stringify({type: 'session_transfer', realm: origin, return_to: '/a?b=1', ...change});
            assert.equal(challengedTarget(message(), origin), '/a?b=1');
            for (const change of [{type: 'x'}, {realm: 'https://evil.example'}, {return_to: '//evil.example'},
              {return_to: 'https://evil.example'}, {return_to: 1}]) {
              assert.equal(challengedTarget(message(change), origin), null);
            }
            assert.equal(challengedTarget('no JSON', origin), null);
            const mayTry = makeTries();
            assert.deepEqual([1, 2, 3, 4, 70_000].map(mayTry), [true, true, true, false, true]);
            """
        let verdict = try #require(try PackageFiles.run(["node", "--input-type=module", "--eval", program]))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    /// No Kotlin compiler is installed where these tests run, so this finds no more than a bracket that is missing.
    @Test func kotlinIsBalanced() throws {
        for text in [try PackageFiles.text("\(Self.folder)/android/SessionTransfer.kt"), try Self.readme("kotlin")] {
            let code = text.replacing(/(?s)\/\*.*?\*\//, with: "").replacing(/\/\/[^\n"]*\n/, with: "\n")
                .replacing(/"[^"\n]*"/, with: "")
            var open: [Character] = []
            for character in code {
                switch character {
                case "(", "[", "{": open.append(character)
                case ")": #expect(open.popLast() == "(")
                case "]": #expect(open.popLast() == "[")
                case "}": #expect(open.popLast() == "{")
                default: break
                }
            }
            #expect(open.isEmpty && !code.contains("\""))
        }
    }

    /// The app in 15 lines of the README.
    private static func readme(_ language: String) throws -> String {
        let blocks = try PackageFiles.text("README.md").components(separatedBy: "```\(language)\n").dropFirst()
        return try #require(blocks.first?.components(separatedBy: "```").first)
    }

    /// The README's Swift compiles with a WebView that has the few members of WebKit's that it uses.
    @Test func swiftOfTheReadme() throws {
        let kit = """
            import Foundation
            #if canImport(FoundationNetworking)
            import FoundationNetworking
            #endif
            @MainActor final class Cookies { func setCookie(_ cookie: HTTPCookie) async {} }
            @MainActor final class DataStore { let httpCookieStore = Cookies() }
            @MainActor final class Configuration { let websiteDataStore = DataStore() }
            @MainActor final class WKWebView {
                let configuration = Configuration()
                func load(_ request: URLRequest) {}
            }

            """
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID()).swift")
        defer { try? FileManager.default.removeItem(at: file) }
        try (kit + Self.readme("swift")).write(to: file, atomically: true, encoding: .utf8)
        let arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", file.path]
        let verdict = try #require(try PackageFiles.run(arguments))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    /// All say the same names as the gateway.
    @Test func examplesUseTheNamesOfTheGateway() throws {
        for files in [
            ["ios/SessionTransfer.swift", "ios/TransferWebView.swift"], ["android/SessionTransfer.kt"],
            ["react-native/sessionTransfer.mjs", "react-native/TransferWebView.mjs"],
        ] {
            let text = try files.map { try PackageFiles.text("\(Self.folder)/\($0)") }.joined()
            for name in [
                "__Host-sallyport-native", "auth0_session_transfer_token", "session_transfer\"", "return_to",
                "/.sallyport/login", "oauth/token", ":session_transfer",
            ] { #expect(text.replacing("'", with: "\"").contains(name), "\(files): \(name)") }
        }
    }
}
