import Foundation
import GatewayBench
import Testing

/// The walk of a person in a real browser, which `deploy/test.sh --soak` installs.
@Suite(
    "Providers of others in a real browser",
    .blocking,
    .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
)
struct RealBrowserTests {
    private static let passwordPage = "!!document.querySelector('input[type=password]')"

    private static func isShown(_ url: String, by user: RealUser) -> String {
        "location.href === '\(url)' && document.body.innerText.includes('X-Auth-Email: \(user.email)')"
    }

    private static func signIn(_ browser: Browser, as user: RealUser) throws {
        try browser.wait(until: Self.passwordPage)
        try browser.perform(
            """
            document.querySelector('input[name=username]').value = '\(user.login)';
            document.querySelector('input[name=password]').value = '\(user.password)';
            document.querySelector('form').requestSubmit()
            """
        )
    }

    private static func signOut(_ browser: Browser, at origin: String) throws {
        try browser.visit("\(origin)/.sallyport/logout")
        try browser.wait(until: "document.title.startsWith('Sign out - ') && document.readyState === 'complete'")
        try browser.perform("document.querySelector('form').requestSubmit()")
        try browser.wait(until: "!!document.querySelector('button[name=logout]')")
        try browser.perform("document.querySelector('button[name=logout]').click()")
        try browser.wait(until: "document.title.startsWith('Signed out - ') && document.readyState === 'complete'")
    }

    @Test(
        "A person signs in, out and again, over two hosts and in two tabs, while the provider is restarted in between"
    )
    func walk() throws {
        try RealProviderBench.with(.idpyoidc) { (bench) throws in
            let browser = try Browser()
            defer { browser.close() }
            try browser.visit("\(bench.second)/a?b=1")
            try browser.keepPictures("provider")
            try Self.signIn(browser, as: .ada)
            try browser.wait(until: Self.isShown("\(bench.second)/a?b=1", by: .ada))
            try browser.keepPictures("app")
            try browser.visit("\(bench.first)/b")
            try browser.wait(until: Self.isShown("\(bench.first)/b", by: .ada))

            bench.provider.process.stop()
            try browser.visit("\(bench.second)/c")
            try browser.wait(until: Self.isShown("\(bench.second)/c", by: .ada))
            try bench.provider.process.start()

            try Self.signOut(browser, at: bench.second)
            try browser.keepPictures("signed-out")
            try browser.visit("\(bench.first)/d")
            try browser.wait(until: Self.passwordPage)

            // Two tabs at once, the second as long as the first has not signed in.
            let tab = try browser.openTab()
            try browser.visit("\(bench.second)/e")
            try Self.signIn(browser, as: .grace)
            try browser.wait(until: Self.isShown("\(bench.second)/e", by: .grace))
            let other = try browser.openTab()
            try browser.visit("\(bench.first)/f")
            try browser.wait(until: Self.isShown("\(bench.first)/f", by: .grace))
            browser.show(tab)
            try Self.signOut(browser, at: bench.first)
            browser.show(other)
            try browser.visit("\(bench.second)/g")
            try browser.wait(until: Self.passwordPage)
        }
    }
}

extension Browser {
    /// Keeps a picture where `PICTURES` says, for people to look at.
    func keepPicture(_ name: String, width: Int, height: Int = 740) throws {
        guard let folder = ProcessInfo.processInfo.environment["PICTURES"] else { return }
        try self.picture(width: width, height: height).write(to: URL(filePath: folder).appending(path: "\(name).png"))
    }

    /// The same on a phone and on a desktop.
    func keepPictures(_ name: String) throws {
        try self.keepPicture("\(name)-phone", width: 360)
        try self.keepPicture("\(name)-desktop", width: 1280)
    }
}
