@echo off
rem Keeps settings and data beside the program instead of in the user's folders.
set "INFEROMETER_HOME=%~dp0home"
start "" "%~dp0inferometerw.exe" %*
