import Foundation
import GatewayBench

/// curl over TLS and HTTP/2, which keeps cookies and loads pages as a browser does.
struct WebCurl {
    private let folder: URL
    private var jar: String { self.folder.appending(path: "cookies").path }

    /// The end of a navigation.
    struct Arrival {
        let url: String
        /// As curl writes it: 2 for HTTP/2.
        let version: String
        let answer: Answer
    }

    /// A client without cookies, with its files in a new folder below this one.
    init(in folder: URL) throws {
        self.folder = folder.appending(path: "curl-\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    private static let program = "/usr/bin/curl"
    private static let pageLoad = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]

    private func arguments(_ fields: [String]) -> [String] {
        ["-sk", "--http2", "--max-time", "600", "--cookie", self.jar, "--cookie-jar", self.jar]
            + fields.flatMap { ["-H", $0] }
    }

    /// Loads a page, with all redirects.
    ///
    /// - Parameter fields: More fields of the request.
    func open(_ url: String, _ fields: [String] = []) throws -> Arrival {
        try self.run(url, ["-L"] + self.arguments(Self.pageLoad + fields))
    }

    /// Fills the sign-in form of a page in, and follows.
    func submit(_ page: Arrival, as user: User = .ada) throws -> Arrival {
        guard let form = page.answer.text.firstMatch(of: /name="return_to" value="([^"]*)"/),
            let origin = page.url.firstMatch(of: /^https:\/\/[^\/]+/)?.0
        else { throw BenchFailure("no form: \(page.url) \(page.answer.lines) \(page.answer.text.prefix(2000))") }
        let values = [
            "identifier=\(user.identifier)", "password=\(user.password)",
            "return_to=\(form.1.replacing("&amp;", with: "&"))",
        ]
        return try self.run(
            "\(origin)/.sallyport/login",
            ["-L"] + self.arguments(Self.pageLoad + ["Origin: \(origin)"])
                + values.flatMap { ["--data-urlencode", $0] }
        )
    }

    /// One request as a script of the page's own origin sends it. No redirect is followed.
    ///
    /// - Parameter file: What is uploaded; nil: `body`, if there is one.
    func send(
        _ method: String,
        _ url: String,
        _ fields: [String] = [],
        body: String? = nil,
        file: String? = nil
    ) throws -> Answer {
        let origin = url.firstMatch(of: /^https:\/\/[^\/]+/).map { String($0.0) } ?? ""
        let script = [
            "Origin: \(origin)", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty",
        ]
        var arguments = self.arguments(script + fields)
        arguments += method == "HEAD" ? ["-I"] : ["-X", method]
        if let file { arguments += ["-T", file, "-H", "Expect:"] }
        if body != nil {
            arguments += ["--data-binary", "@-"]
            // Otherwise curl says that it is a form.
            if !fields.contains(where: { $0.hasPrefix("Content-Type:") }) { arguments += ["-H", "Content-Type:"] }
        }
        return try self.run(url, arguments, input: Array((body ?? "").utf8)).answer
    }

    /// Sends a request for each path at the same time over one connection, as a page that has so many images, and returns
    /// the status of each.
    func sendTogether(_ urls: [String]) throws -> [String] {
        let many = urls.flatMap { [$0, "-o", "/dev/null"] }
        let (_, output) = try Servers.run(
            Self.program,
            self.arguments([]) + [
                "-Z", "--no-progress-meter", "--parallel-max", "\(urls.count)", "-w", "%{http_code} ",
            ] + many
        )
        return output.split(separator: " ").map(String.init)
    }

    private func run(_ url: String, _ arguments: [String], input: [UInt8] = []) throws -> Arrival {
        let files = ["head", "body"].map { self.folder.appending(path: $0) }
        for file in files { try Data().write(to: file) }
        let (status, output) = try Servers.run(
            Self.program,
            ["-D", files[0].path, "-o", files[1].path, "-w", "%{http_version} %{url_effective}"] + arguments + [url],
            input: input,
            within: 660
        )
        let words = output.split(separator: " ", maxSplits: 1).map(String.init)
        guard status == 0, words.count == 2 else { throw BenchFailure("curl \(url): \(status) \(output)") }
        // One head for each redirect and interim answer; their lines end alike in every version.
        let heads = String(latin1: try Data(contentsOf: files[0])).components(separatedBy: "\r\n\r\n")
        let last = heads.last { !$0.isEmpty } ?? ""
        let head = last.replacing(#/^HTTP/2 /#, with: "HTTP/2.0 ")
        let body = Array(try Data(contentsOf: files[1]))
        for bytes in [Array(head.utf8), body] { Secrets.shared.note(in: bytes) }
        return Arrival(url: words[1], version: words[0], answer: Answer(head: Array(head.utf8), body: body))
    }

    /// A response that goes on, such as one of server-sent events.
    final class Stream {
        private let process = Process()
        private let file: URL

        fileprivate init(_ arguments: [String], in folder: URL) throws {
            self.file = folder.appending(path: "stream")
            try Data().write(to: self.file)
            self.process.executableURL = URL(filePath: WebCurl.program)
            self.process.arguments = arguments
            self.process.standardInput = FileHandle.nullDevice
            self.process.standardOutput = try FileHandle(forWritingTo: self.file)
            self.process.standardError = FileHandle.nullDevice
            try self.process.run()
        }

        /// What has arrived.
        var text: String { (try? String(contentsOf: self.file, encoding: .utf8)) ?? "" }
        /// True once the response has ended.
        var hasEnded: Bool { !self.process.isRunning }

        /// Ends it, if it has not ended.
        func stop() {
            if self.process.isRunning { self.process.terminate() }
        }
    }

    /// Reads server-sent events, with the cookies, until the response ends or it is stopped.
    func listen(_ url: String) throws -> Stream {
        try Stream(
            ["-skN", "--http2", "--cookie", self.jar, "-H", "Accept: text/event-stream", url],
            in: self.folder
        )
    }
}
