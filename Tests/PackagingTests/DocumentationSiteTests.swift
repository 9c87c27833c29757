import Foundation
import TestSupport
import Testing

/// `deploy/docs.sh` makes a site of the guides.
@Suite struct DocumentationSiteTests {
    /// Runs the script of the package at `root`; the text of the pages by their paths.
    private static func site(
        of root: URL = PackageFiles.root,
        source: String? = nil,
        base: String? = nil
    ) throws -> (status: Int32, output: String, pages: [String: String]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-site-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let environment =
            source.map { ["env", "SALLYPORT_SOURCE_URL=\($0)"] } ?? ["env", "-u", "SALLYPORT_SOURCE_URL"]
        let command = [root.appending(path: "deploy/docs.sh").path, folder.path] + (base.map { [$0] } ?? [])
        let made = try #require(try PackageFiles.run(environment + command))
        var pages: [String: String] = [:]
        for path in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? []
        where path.hasSuffix(".json") || path.hasSuffix(".html") {
            pages[path] = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
        }
        return (made.status, made.output, pages)
    }

    @Test("Each guide becomes a page, without a link to a file")
    func pages() throws {
        let (status, output, pages) = try Self.site()
        #expect(status == 0, "\(output)")
        #expect(pages["data/documentation/sallyport.json"]?.contains("topicSections") == true)
        for guide in try Documents.guides() where guide.name != "Sallyport" {
            let page = try #require(pages["data/documentation/sallyport/\(guide.name.lowercased()).json"], "\(guide)")
            let link = /"(?:url|destination|identifier)":"[^"]*(?:\.md|\.\.\\?\/)[^"]*"/
            #expect(page.firstMatch(of: link) == nil, "\(guide)")
            // A toolchain without the renderer makes the data alone, and the script says so.
            if output.contains("no renderer") { continue }
            #expect(pages["documentation/sallyport/\(guide.name.lowercased())/index.html"] != nil, "\(guide)")
        }
    }

    @Test("Links to the repository lead to its address where that is known, and the site stands below a path")
    func addresses() throws {
        let source = "https://forge.example.com/owner/sallyport/blob/main"
        let (status, output, pages) = try Self.site(source: source, base: "/guides")
        #expect(status == 0, "\(output)")
        let settings = try #require(pages["data/documentation/sallyport/settings.json"]).replacing("\\/", with: "/")
        #expect(settings.contains("\"\(source)/Config/sallyport.reference.yaml\""))
        if output.contains("no renderer") { return }
        #expect(pages["documentation/sallyport/settings/index.html"]?.contains("\"/guides/") == true)
        #expect(pages["index.html"]?.contains("url=documentation/sallyport/") == true)
    }

    @Test("A link to a guide or a picture that does not exist ends the script")
    func deadLinks() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "sallyport-guides-\(UUID())")
        defer { try? FileManager.default.removeItem(at: root) }
        let catalog = root.appending(path: Documents.catalog)
        for folder in [
            root.appending(path: "deploy"), catalog.appending(path: "Run"), catalog.appending(path: "Resources"),
        ] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let script = root.appending(path: "deploy/docs.sh")
        try FileManager.default.copyItem(at: PackageFiles.root.appending(path: "deploy/docs.sh"), to: script)
        let picture = #"<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>"#
        try Data(picture.utf8).write(to: catalog.appending(path: "Resources/way.svg"))
        try Data("# Sallyport\n\nA gateway.\n\n## Topics\n\n### Run\n\n- [Redis](Run/Redis.md)\n".utf8)
            .write(to: catalog.appending(path: "Sallyport.md"))
        func judge(_ text: String) throws -> (status: Int32, output: String, pages: [String: String]) {
            try Data("# Redis\n\nThe store.\n\n\(text)\n".utf8).write(to: catalog.appending(path: "Run/Redis.md"))
            return try Self.site(of: root)
        }
        let whole = try judge(
            "The [root](../Sallyport.md), [a\nfile](../../../../LICENSE), ![the way](../Resources/way.svg)"
        )
        #expect(whole.status == 0, "\(whole.output)")
        #expect(whole.pages["data/documentation/sallyport/redis.json"]?.contains("way.svg") == true)
        let link = try judge("See [TLS](TLS.md).")
        #expect(link.status != 0 && link.output.contains("TLS"), "\(link.output)")
        #expect(link.pages.isEmpty)
        let image = try judge("![the way](../Resources/other.svg)")
        #expect(image.status != 0 && image.output.contains("other.svg"), "\(image.output)")
        let usage = try #require(try PackageFiles.run(["deploy/docs.sh"]))
        #expect(usage.status == 64 && usage.output.contains("deploy/docs.sh FOLDER"))
    }
}
