@file:Suppress("UNUSED_PARAMETER")

package android.webkit

import android.content.Context
import android.net.Uri
import say

class WebSettings {
    var javaScriptEnabled = false
    var domStorageEnabled = false
}

interface WebResourceRequest {
    val url: Uri
    val isForMainFrame: Boolean
    val isRedirect: Boolean
}

class WebResourceError

open class WebViewClient {
    open fun shouldOverrideUrlLoading(view: WebView, request: WebResourceRequest): Boolean = false

    open fun onReceivedError(view: WebView, request: WebResourceRequest, error: WebResourceError) {}
}

class WebView(val context: Context) {
    val settings = WebSettings()
    lateinit var webViewClient: WebViewClient

    fun loadUrl(url: String) {
        // Without a client, the redirect after the handoff would go to another app.
        check(::webViewClient.isInitialized) { "no WebViewClient" }
        check(settings.javaScriptEnabled) { "no scripts" }
        say("load" to url)
    }
}

class CookieManager private constructor() {
    fun setCookie(url: String, field: String) = say("cookie" to field, "url" to url)

    fun removeAllCookies(done: ((Boolean) -> Unit)?) {}

    companion object {
        private val only = CookieManager()

        fun getInstance() = only
    }
}

class WebStorage private constructor() {
    fun deleteAllData() {}

    companion object {
        private val only = WebStorage()

        fun getInstance() = only
    }
}
