# Asks an attnd server for an image and a text. Windows PowerShell 5.1 and PowerShell 7, no modules.
# Not tested: no PowerShell was at hand when it was written. It does what the tested C# client does, with the same classes.
#
#     .\attnd-client.ps1 wafer.png fail.log
#
# ATTND_URL  the server, http://127.0.0.1:8080 by default
# ATTND_KEY  the key, if the server has keys
#
# With https Windows must trust the authority that signed the server's certificate. As an administrator, once:
#     Import-Certificate -FilePath ca.pem -CertStoreLocation Cert:\LocalMachine\Root
param([Parameter(Mandatory = $true, ValueFromRemainingArguments = $true)][string[]] $Paths)

$ErrorActionPreference = 'Stop'
$tries = 5
$waitSecondsMax = 60
Add-Type -AssemblyName System.Net.Http
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

$url = if ($env:ATTND_URL) { $env:ATTND_URL.TrimEnd('/') } else { 'http://127.0.0.1:8080' }
$http = New-Object System.Net.Http.HttpClient
$http.Timeout = [TimeSpan]::FromSeconds(30)
if ($env:ATTND_KEY) {
    $http.DefaultRequestHeaders.Authorization =
        New-Object System.Net.Http.Headers.AuthenticationHeaderValue('Bearer', $env:ATTND_KEY)
}

# A refusal is application/problem+json (RFC 9457); a proxy may answer in its own words.
function Get-ProblemText([int] $Status, [string] $Body) {
    try {
        $problem = $Body | ConvertFrom-Json
        return "$Status $($problem.title): $($problem.detail)"
    } catch {
        return "$Status HTTP error: $Body"
    }
}

# Waits and asks again while the server is busy (429) or not ready (503).
function Send-Input([string] $Path) {
    $type = switch ([IO.Path]::GetExtension($Path).ToLowerInvariant()) {
        '.png' { 'image/png' }
        '.jpg' { 'image/jpeg' }
        '.jpeg' { 'image/jpeg' }
        '.bmp' { 'image/bmp' }
        default { 'text/plain; charset=utf-8' }
    }
    $bytes = [IO.File]::ReadAllBytes((Resolve-Path -LiteralPath $Path).ProviderPath)
    for ($left = $tries - 1; ; $left--) {
        $content = New-Object System.Net.Http.ByteArrayContent(, $bytes)
        $content.Headers.ContentType = [System.Net.Http.Headers.MediaTypeHeaderValue]::Parse($type)
        $reply = $http.PostAsync("$url/predict", $content).GetAwaiter().GetResult()
        $body = $reply.Content.ReadAsStringAsync().GetAwaiter().GetResult()
        $status = [int] $reply.StatusCode
        if ($reply.IsSuccessStatusCode) { return $body | ConvertFrom-Json }
        if (($status -ne 429 -and $status -ne 503) -or $left -eq 0) { throw (Get-ProblemText $status $body) }
        $wait = 1
        if ($reply.Headers.RetryAfter -and $reply.Headers.RetryAfter.Delta) {
            $wait = [Math]::Min($reply.Headers.RetryAfter.Delta.TotalSeconds, $waitSecondsMax)
        }
        Write-Warning "the server is busy ($status), again in $wait s"
        Start-Sleep -Seconds $wait
    }
}

$failed = 0
foreach ($path in $Paths) {
    try {
        $answer = Send-Input $path
        if ($answer.embedding) { # of a model of vectors, in place of label, score and decision
            '{0}: a vector of {1} numbers' -f $path, $answer.embedding.Count
            continue
        }
        '{0}: {1} {2} {3}' -f $path, $answer.label,
            $answer.score.ToString('F4', [Globalization.CultureInfo]::InvariantCulture), $answer.decision
    } catch {
        [Console]::Error.WriteLine("${path}: $($_.Exception.GetBaseException().Message)")
        $failed = 1
    }
}
exit $failed
